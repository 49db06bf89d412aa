import { describe, expect, it } from '@jest/globals';
import {
  connectionsOf,
  migratorConnections,
  productionManifests,
  reservedConnections,
  usableConnections,
} from '../src/connections.ts';
import { readRepositoryFile } from '../src/repository.ts';

const production = productionManifests();
const services = ['identity', 'issues'];
const page = readRepositoryFile('docs/operations/kubernetes-network.md').replaceAll('\n', ' ');
const sumOf = (figures: readonly number[]) => figures.reduce((sum, figure) => sum + figure, 0);

describe.each(services)('the connections of %s', (service) => {
  const { replica, replicas, all } = connectionsOf(service, production);

  it('fit a default PostgreSQL at the largest size, with surge and migrator', () => {
    expect(all + migratorConnections).toBeLessThanOrEqual(usableConnections);
    // A replica has at least the pool and the connection for readiness.
    expect(replica).toBeGreaterThan(10);
  });

  it('are the figures of the page', () => {
    expect(readRepositoryFile('docs/operations/kubernetes-network.md')).toMatch(
      new RegExp(
        `^\\| ${service} .*\\| ${replica} +\\| ${replicas} × ${replica} \\+ ${migratorConnections} = ${all + migratorConnections} +\\|$`,
        'm',
      ),
    );
  });
});

describe('the servers of the databases', () => {
  it('are one for each service, in the local overlay and with CloudNativePG', () => {
    const local = readRepositoryFile('k8s/overlays/local/postgres.yaml');
    const clusters = readRepositoryFile('k8s/examples/cloudnative-pg.yaml');
    for (const service of services) {
      expect(local).toMatch(new RegExp(`^kind: StatefulSet\nmetadata:\n  name: ${service}-postgres$`, 'm'));
      expect(clusters).toMatch(new RegExp(`^kind: Cluster\nmetadata:\n  name: ${service}-db$`, 'm'));
    }
  });

  it('need the documented max_connections if one server has both databases', () => {
    const each = services.map((service) => connectionsOf(service, production).all + migratorConnections);
    const sum = sumOf(each);
    expect(sum).toBeGreaterThan(usableConnections);
    expect(page).toContain(`${each.join(' + ')} = ${sum} do not fit`);
    const [, raised] = /set `max_connections` to (\d+)/.exec(page) ?? [];
    expect(Number(raised) - reservedConnections).toBeGreaterThanOrEqual(sum);
  });
});

describe('the connections through PgBouncer', () => {
  const sum = sumOf(services.map((service) => connectionsOf(service, production, 'transaction').all));

  it('are those of all replicas without the one for events, which the page states', () => {
    const { replica, replicas, all } = connectionsOf('issues', production);
    expect(connectionsOf('issues', production, 'transaction')).toMatchObject({
      replica: replica - 1,
      all: all - replicas,
    });
    expect(connectionsOf('identity', production, 'transaction')).toEqual(
      connectionsOf('identity', production),
    );
    expect(readRepositoryFile('apps/issues/src/config.ts')).toContain(
      "listensForEvents: read.EVENTS_LISTEN && read.DATABASE_POOLER === 'off'",
    );
    const formula = services.map((service) => connectionsOf(service, production, 'transaction').replica);
    expect(page).toContain(
      `its clients have ${replicas} × (${formula.join(' + ')}) = ${sum} connections without those for events`,
    );
  });

  it('are accepted with the documented configuration', () => {
    const [, limit] =
      /^max_client_conn = (\d+)$/m.exec(readRepositoryFile('docs/operations/poolers.md')) ?? [];
    expect(Number(limit)).toBeGreaterThan(sum);
  });
});
