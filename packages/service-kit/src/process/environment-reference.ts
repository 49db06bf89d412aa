import type { z } from 'zod';
import type { migrationEnvironment, serviceVariables } from './service-environment.ts';

/**
 * What a variable means, for docs/reference/environment.md, from where its links start. `default` is only for one that the
 * schema does not have.
 */
export type VariableEntry = string | { readonly default: string; readonly meaning: string };

type ServiceVariable = keyof ReturnType<typeof serviceVariables>;

/** The variables of every service. A service has an entry of its own where it uses one differently. */
export const serviceVariableReference = {
  NODE_ENV: '`development` and `test` relax the checks of `production`',
  HOST: 'listen address',
  PORT: 'listen port',
  DATABASE_URL: '`postgresql://…`; each service needs a database of its own',
  DATABASE_POOL_MAX: 'connections for requests; all replicas together stay below `max_connections`',
  DATABASE_CONNECTION_TIMEOUT_MS:
    'how long a request waits for a connection, for one of the pool or a new one; the response is then 503; `/readyz` takes at most half of it',
  DATABASE_STATEMENT_TIMEOUT_MS:
    'statement timeout; the response is then 503; at most 2 s for lists of issues',
  DATABASE_POOLER: 'how statements go through PgBouncer; see [poolers](../operations/poolers.md)',
  SERVICE_TOKEN: {
    default: 'required',
    meaning: 'the token of trusted backends; at least 32 characters in production',
  },
  SERVICE_TOKEN_PREVIOUS:
    'the previous token, during a [rotation](../identity/service-token.md): identity accepts it, and issues uses it if identity rejects the other one',
  JWT_ISSUER: {
    default: 'required in production',
    meaning:
      '`iss` of access tokens, and base of the URLs in discovery: the public URL of identity; https in production; read without default port and final `/`',
  },
  ALLOW_LOOPBACK_ISSUER:
    'allows an http issuer on a loopback address in production, for use on a single machine',
  JWT_AUDIENCE: {
    default: '`tessera`',
    meaning: '`aud` of access tokens; a comma-separated list is the whole array',
  },
  EVENTS_RETENTION_DAYS: 'how long events are kept',
  EVENTS_STANDBYS:
    '`synchronous` if a failover of the database loses nothing and must reset no cursor of events; see [failover](../operations/failover.md#synchronous-standbys)',
  TRUST_PROXY: 'number of hops, or CIDR ranges, whose `X-Forwarded-For` is trusted',
  CORS_ORIGINS:
    'origins of pages that may read responses, such as `https://app.example`, without path and `*`; those of identity are `/token*`, `/userinfo`, `/oidc/token`, `/oidc/revoke` and `/oidc/userinfo`',
  LOG_LEVEL: 'the log is JSON lines on standard output',
  METRICS_PORT: 'port of [`GET /metrics`](metrics.md) (Prometheus), 0 for any free one; must not be public',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'collector of traces (OTLP over HTTP); without it there are none',
  OTEL_TRACES_SAMPLER_ARG:
    "share of new traces that are recorded; requests with a trace context keep the caller's decision",
  SHUTDOWN_DELAY_MS: 'how long the service accepts requests after `/readyz` reports 503 during shutdown',
  SHUTDOWN_TIMEOUT_MS: "maximum duration of a shutdown; must be less than the platform's grace period",
  HTTP_HEADERS_TIMEOUT_MS: 'maximum time for a client to send the headers',
  HTTP_REQUEST_TIMEOUT_MS: 'maximum time for a client to send the whole request',
  HTTP_KEEP_ALIVE_TIMEOUT_MS:
    "how long an idle connection stays open; must exceed the load balancer's timeout",
  HTTP_DRAIN_TIMEOUT_MS: 'maximum time for a client to receive a response; its connection is then closed',
} satisfies Readonly<Record<ServiceVariable, VariableEntry>>;

export const migrationVariableReference = {
  DATABASE_URL: {
    default: 'required',
    meaning: "the service's database, unless `MIGRATION_DATABASE_URL` is set",
  },
  MIGRATION_DATABASE_URL:
    'connects as the owner of the database; see [database roles](../operations/database-roles.md)',
  SERVICE_DATABASE_ROLE: "the service's role, to which `migrate.js` grants its privileges",
} satisfies Readonly<Record<keyof z.output<typeof migrationEnvironment>, VariableEntry>>;

/** An entry for each variable of a service; those of `serviceVariables` have one already. The compiler finds what is missing. */
export type VariableReference<Variable extends string> = Readonly<
  Record<Exclude<Variable, ServiceVariable>, VariableEntry> & Partial<Record<ServiceVariable, VariableEntry>>
>;
