import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { renderKustomization } from './kustomize.ts';
import { type Manifest, nameOf } from './manifest.ts';
import { readRepositoryFile, rootDir } from './repository.ts';

/** PostgreSQL's default for superuser_reserved_connections. */
export const reservedConnections = 3;
/** The connections of roles that are not superusers, with PostgreSQL's default for max_connections. */
export const usableConnections = 100 - reservedConnections;

/** A migrator uses one connection. */
export const migratorConnections = 1;

const spec = z.looseObject({
  strategy: z.looseObject({ rollingUpdate: z.looseObject({ maxSurge: z.number() }) }),
});
const autoscaler = z.looseObject({ maxReplicas: z.number() });
const configMap = z.looseObject({
  DATABASE_POOL_MAX: z.coerce.number(),
  DATABASE_POOLER: z.string().default('off'),
  EVENTS_LISTEN: z.string().default('on'),
});

/** The manifests of the production overlay. */
export const productionManifests = () => renderKustomization(join(rootDir, 'k8s/overlays/production'));

/**
 * The most connections of a service to its database: of a replica, and of all replicas during a rollout.
 * @param pooler `DATABASE_POOLER` in place of the value in the manifests
 */
export function connectionsOf(service: string, manifests: readonly Manifest[], pooler?: string) {
  const find = (kind: string) => {
    const found = manifests.find((manifest) => nameOf(manifest) === `${kind}/${service}`);
    if (found === undefined) throw new Error(`There is no ${kind}/${service}.`);
    return found;
  };
  const config = configMap.parse(find('ConfigMap').data);
  const poolMax = config.DATABASE_POOL_MAX;
  // A service does not listen through a pooler.
  const listens = config.EVENTS_LISTEN !== 'off' && (pooler ?? config.DATABASE_POOLER) === 'off';
  const { maxReplicas } = autoscaler.parse(find('HorizontalPodAutoscaler').spec);
  const { maxSurge } = spec.parse(find('Deployment').spec).strategy.rollingUpdate;
  const source = [`apps/${service}/src`, 'packages/service-kit/src/database'].flatMap(sourcesIn).join('\n');
  const pools = [...source.matchAll(/createPool\(\{(.*?)\}\)/gs)].map(([, options = '']) =>
    sizeOf(/\bmax: ([^\n]+),\n/.exec(options)?.[1], poolMax),
  );
  const listeners = /new EventChannel\(/.test(source) && listens ? 1 : 0;
  const replica = pools.reduce((sum, size) => sum + size, listeners);
  const replicas = maxReplicas + maxSurge;
  return { replica, maxReplicas, surge: maxSurge, replicas, all: replica * replicas };
}

// The expressions in the code. A new one must be added here, so that the figures stay true.
function sizeOf(expression: string | undefined, poolMax: number): number {
  if (expression === 'config.poolMax') return poolMax;
  if (expression === 'Math.ceil(config.poolMax / 2)') return Math.ceil(poolMax / 2);
  if (expression !== undefined && /^\d+$/.test(expression)) return Number(expression);
  throw new Error(`The size of a pool is unknown: ${expression}`);
}

function sourcesIn(folder: string): string[] {
  return readdirSync(join(rootDir, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('generated'))
    .map((file) => readRepositoryFile(join(folder, file)));
}
