import { z } from 'zod';
import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { LoadRequest } from '../load/load.ts';
import type { Contender } from '../run/sample.ts';
import { startServerProcess } from '../run/server-process.ts';
import { httpContender } from './http-contender.ts';
import { fetchDocument, probed } from './probe.ts';

/** Node's own server with the same bytes: what a document costs at the least. */
export const bareHttp = 'bare node:http';

/** @param service whose document it gives */
export async function bareDocument(
  lab: Lab,
  scope: Scope,
  service: string,
  request: LoadRequest,
): Promise<Contender> {
  const body = JSON.stringify(await fetchDocument(service, request));
  const entry = new URL('../servers/bare-http.server.ts', import.meta.url);
  const { pid, ready, stop } = await startServerProcess(entry, { body }, z.object({ url: z.string() }));
  scope.defer(stop);
  return httpContender(lab, {
    name: bareHttp,
    origins: [ready.url],
    requests: await probed(ready.url, [request], () => undefined),
    pids: () => [pid],
  });
}
