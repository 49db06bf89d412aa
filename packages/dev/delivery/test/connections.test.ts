import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { connectionsOf, migratorConnections } from '../src/connections.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';

/** PostgreSQL's defaults for max_connections and superuser_reserved_connections. */
const usable = 100 - 3;

describe.each(['identity', 'issues'])('the connections of %s', (service) => {
  const { replica, replicas, all } = connectionsOf(
    service,
    renderKustomization(join(rootDir, 'k8s/overlays/production')),
  );

  it('fit a default PostgreSQL at the largest size, with surge and migrator', () => {
    expect(all + migratorConnections).toBeLessThanOrEqual(usable);
    // A replica has at least the pool and the connection for readiness.
    expect(replica).toBeGreaterThan(10);
  });

  it('are the figures of the README', () => {
    expect(readRepositoryFile('k8s/README.md')).toMatch(
      new RegExp(
        `^\\| ${service} .*\\| ${replica} +\\| ${replicas} × ${replica} \\+ ${migratorConnections} = ${all + migratorConnections} +\\|$`,
        'm',
      ),
    );
  });
});
