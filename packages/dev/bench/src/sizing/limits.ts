import { streamsMax } from '@tessera/contracts';
import {
  connectionsOf,
  migratorConnections,
  productionManifests,
  usableConnections,
} from '@tessera/delivery/connections';
import type { Measurements } from './measurements.ts';
import { coresOf, gigabytesOf, openBrowsers, replicasFor, type ServiceName, usersAt } from './model.ts';
import { referenceServer, usedShare } from './profile.ts';
import { serviceNames } from './table-sizes.ts';

const manifests = productionManifests();
/** The connections of a replica of each service. */
export const connections = {
  identity: connectionsOf('identity', manifests),
  issues: connectionsOf('issues', manifests),
};

export const connectionsFor = (service: ServiceName, replicas: number) =>
  (replicas + connections[service].surge) * connections[service].replica + migratorConnections;

interface Limit {
  title: string;
  users: number;
  remedy: string;
}

// Live updates grow with the square of the users until the pause limits them.
const longerPause = 'a longer `pauseMs` of the web app';

const databaseRemedies = {
  identity: {
    cores: 'a larger server',
    gigabytes:
      'a shorter `AUDIT_RETENTION_DAYS`; then `audit_events` partitioned by month, which needs a migration',
  },
  issues: {
    cores: `a larger server; ${longerPause}; then lists from a standby (READ_DATABASE_URL)`,
    gigabytes: 'a larger volume; then `activity` partitioned by month, which needs a migration',
  },
};

/** The limits in the order in which a growing number of users reaches them, with a PostgreSQL server for each service. */
export function limitsOf(results: Measurements): Limit[] {
  const { cores: databaseCores, gigabytes } = referenceServer;
  const limits = serviceNames.flatMap((service): Limit[] => {
    const { replica, maxReplicas, surge } = connections[service];
    const connected = Math.floor((usableConnections - migratorConnections) / replica) - surge;
    const cores = (users: number) => coresOf(users, results)[service];
    return [
      {
        title: `${maxReplicas} replicas of ${service}`,
        users: usersAt(cores, maxReplicas * usedShare),
        remedy: service === 'issues' ? `a larger \`maxReplicas\`; ${longerPause}` : 'a larger `maxReplicas`',
      },
      {
        title: `connections of ${service}: ${connected} replicas in ${usableConnections}`,
        users: usersAt(cores, connected * usedShare),
        remedy: 'PgBouncer (`DATABASE_POOLER`), or a larger `max_connections`',
      },
      {
        title: `${databaseCores} cores of PostgreSQL of ${service}`,
        users: usersAt((users) => coresOf(users, results).postgres[service], databaseCores * usedShare),
        remedy: databaseRemedies[service].cores,
      },
      {
        title: `${gigabytes} GB of ${service} after a year`,
        users: usersAt((users) => gigabytesOf(users, results, service), gigabytes),
        remedy: databaseRemedies[service].gigabytes,
      },
    ];
  });
  return [
    ...limits,
    {
      title: `${streamsMax.toLocaleString('en')} streams of each of ${connections.issues.maxReplicas} replicas`,
      users: usersAt(openBrowsers, streamsMax * connections.issues.maxReplicas),
      remedy: 'a larger `maxReplicas` of issues; browsers without a stream read the feed',
    },
    {
      title: `all sign in within an hour, on ${connections.identity.maxReplicas} replicas of identity`,
      users: usersAt(
        (users) => ((users / 3_600) * results.costs['sign-in'].serviceMicros) / 1e6,
        connections.identity.maxReplicas * usedShare,
      ),
      remedy: 'a larger `maxReplicas` of identity before a leaked key is replaced',
    },
  ].sort(byUsers);
}

/** The limits of one PostgreSQL server that has both databases, in their order. */
export function sharedLimitsOf(results: Measurements): Omit<Limit, 'remedy'>[] {
  const { cores, gigabytes } = referenceServer;
  const sum = (demand: (service: ServiceName) => number) => demand('identity') + demand('issues');
  const replicas = (users: number) => (service: ServiceName) => replicasFor(coresOf(users, results)[service]);
  const connected = (users: number) => (service: ServiceName) =>
    connectionsFor(service, replicas(users)(service));
  // Up to this number of users, the connections fit.
  const fitting = usersAt((users) => sum(connected(users)), usableConnections + 1);
  const counts = serviceNames.map((service) => `${replicas(fitting)(service)} of ${service}`).join(' and ');
  return [
    {
      title: `${usableConnections} connections (replicas: ${counts}; ${serviceNames.map(connected(fitting)).join(' + ')})`,
      users: fitting,
    },
    {
      title: `${cores} cores`,
      users: usersAt(
        (users) => sum((service) => coresOf(users, results).postgres[service]),
        cores * usedShare,
      ),
    },
    {
      title: `${gigabytes} GB after a year`,
      users: usersAt((users) => sum((service) => gigabytesOf(users, results, service)), gigabytes),
    },
  ].sort(byUsers);
}

const byUsers = (one: { users: number }, other: { users: number }) => one.users - other.users;
