import type { Lab } from '../lab/lab.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { Contender } from '../run/sample.ts';
import type { Endpoint } from './endpoints.ts';
import { httpContender, probe } from './http-contender.ts';

/** The name of Tessera in a row. */
export const ours = 'Tessera';
/** The name of the services of `--against` in a row. */
export const before = 'Tessera before';

interface Variant {
  name?: string;
  /** Two replicas instead of one. */
  both?: boolean;
}

/** Tessera under the load of an endpoint. */
export async function tesseraContender(
  lab: Lab,
  tessera: Tessera,
  endpoint: Endpoint,
  { name = ours, both = false }: Variant = {},
): Promise<Contender> {
  const { service, connections, usesDatabase = true, check, prepare, verify } = endpoint;
  const replicas =
    service === 'identity'
      ? [tessera.identity, tessera.secondIdentity]
      : [tessera.issues, tessera.secondIssues];
  const used = both ? replicas : replicas.slice(0, 1);
  const requests = await endpoint.requests(tessera);
  const contender = httpContender(lab, {
    name,
    origins: used.map(({ url }) => url),
    pids: () => used.map(({ pid }) => pid),
    requests: check === undefined ? requests : await probe(tessera[service].url, requests, check),
    connections,
    usesDatabase,
    prepare: prepare === undefined ? undefined : () => prepare(tessera),
  });
  return verify === undefined ? contender : verify(contender, tessera);
}
