import { describe, expect, it } from '@jest/globals';
import { connectionsOf, migratorConnections, productionManifests } from '../src/connections.ts';
import { readRepositoryFile } from '../src/repository.ts';

/** PostgreSQL's defaults for max_connections and superuser_reserved_connections. */
const usable = 100 - 3;

const production = productionManifests();
const services = ['identity', 'issues'];

describe.each(services)('the connections of %s', (service) => {
  const { replica, replicas, all } = connectionsOf(service, production);

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

it('PgBouncer accepts the connections of all replicas, with the documented configuration', () => {
  const sum = services.map((service) => connectionsOf(service, production).all).reduce((a, b) => a + b);
  expect(readRepositoryFile('k8s/README.md')).toContain(`its clients have ${sum} connections`);
  const [, limit] = /^max_client_conn = (\d+)$/m.exec(readRepositoryFile('apps/identity/README.md')) ?? [];
  expect(Number(limit)).toBeGreaterThan(sum);
});
