import type { VariableReference } from '@tessera/service-kit';
import type { environmentSchema } from './config.ts';
import type { trackerVariables } from './tracker-sync/tracker-environment.ts';

type TrackerVariable = keyof typeof trackerVariables;

/** The variables of issues for docs/reference/environment.md, in its order. */
export const environmentReference = {
  DATABASE_POOL_MAX:
    'connections for writes and single reads; half as many more for lists, two for rate limits, one each for readiness and events',
  READ_DATABASE_URL:
    '`postgresql://…` of standbys, for lists, searches and counts; see [lists from a standby](../operations/failover.md#lists-from-a-standby)',
  IDENTITY_URL: 'base URL of identity; the service token is sent only there',
  JWKS_URI: { default: '`IDENTITY_URL/jwks`', meaning: 'URL of the key set' },
  JWKS_COOLDOWN_SECONDS:
    'minimum time between two fetches of the key set for unknown key ids; publish a key this long before it signs',
  IDENTITY_TIMEOUT_MS: 'timeout of a request to identity',
  MIRROR_INTERVAL_SECONDS:
    "time between two looks for new identities while identity's feed is off; `0`: identities are neither copied nor followed",
  CLOCK_TOLERANCE_SECONDS: "maximum difference from identity's clock",
  PUBLIC_BASE_URL:
    'base URL of this service for clients, used in `Location` and `Link`; read without default port and final `/`',
  LIST_MAX: 'size of an array if the client sets no `limit`',
  ISSUE_KEY_PREFIX: 'key of the default project, which begins the keys of its issues',
  REQUIRE_VERIFIED: 'the requests that require a verified identity',
  REQUIRE_PRECONDITION:
    '`PUT` and `PATCH` of an issue and changes of its status require `version` or `If-Match`; otherwise 428',
  STRICT_PRIVILEGE_CHECK:
    "before a change of users, refreshes the actor's privileges from identity if they are older than a minute",
  RATE_LIMIT_READS_PER_MINUTE: 'per identity and replica; `0` disables the limit',
  RATE_LIMIT_WRITES_PER_MINUTE:
    'per identity; a body counts as one further request per 4 KiB, a bulk change as one per issue, a change of links as one per link; `0` disables the limit',
  RATE_LIMIT_SYNCS_PER_MINUTE: 'per identity, separate from writes; `0` disables the limit',
  RATE_LIMIT_SIGN_INS_PER_MINUTE: 'sign-ins to the web app per address and replica; `0` disables the limit',
  WEB_APP:
    'the [web app](../issues/web-app.md) and its [session](../issues/web-session.md); `off`: their paths are 404',
  SESSION_KEYS: {
    default: 'required in production',
    meaning:
      'with `WEB_APP=on`: keys of 32 bytes as base64, comma-separated; the first seals tokens, all open them',
  },
  SIGN_IN:
    "with `WEB_APP=on`: `form` signs people in with a form of the web app, `hosted` on [identity's pages](../issues/web-session.md#sign-in-on-identitys-pages), which needs `HOSTED_SIGN_IN=on` there",
  OIDC_CLIENT_ID:
    'with `SIGN_IN=hosted`: the id of a client that was registered by hand; without it, the service registers itself',
  OIDC_CLIENT_SECRET: 'the secret of this client',
  JANITOR_INTERVAL_SECONDS:
    'interval of the cleanup job: idempotency keys, webhook deliveries, events, notifications, web sessions; `0` disables it',
  ATTACHMENT_STORE: 'where new files go; see [files](../operations/files.md)',
  S3_ENDPOINT: 'URL of the service with the API of S3; required for `s3`, and while files are in the bucket',
  S3_BUCKET: 'its bucket, of this service alone',
  S3_REGION: 'its region, if the service has any',
  S3_ACCESS_KEY_ID: 'a key that may read, write, delete and list in the bucket',
  S3_SECRET_ACCESS_KEY: 'its secret; in production random, and at least 16 characters',
  EVENTS_LISTEN:
    '`off`: no notifications between processes, as with a `DATABASE_POOLER`; see [streams](../issues/event-streams.md)',
  WEBHOOK_ALLOW_HTTP: 'allows endpoints with http in production, for use on a single machine',
  WEBHOOK_ALLOWED_NETWORKS:
    'networks inside to which webhooks may be sent, such as `10.0.0.0/8,fd00::/8`; see [targets](../issues/webhooks.md#targets)',
} satisfies VariableReference<Exclude<keyof typeof environmentSchema.shape, TrackerVariable>>;

/** The variables of the external tracker. */
export const trackerReference = {
  TRACKER_PROVIDER: 'the kind of tracker; see [set up a tracker](../tracker-sync/set-up.md)',
  TRACKER_URL: { default: 'that of github.com or gitlab.com', meaning: 'its URL' },
  TRACKER_PROJECT: { default: 'required', meaning: 'its project' },
  TRACKER_TOKEN: {
    default: 'required',
    meaning: 'sent only to `TRACKER_URL`; redirects are not followed',
  },
  TRACKER_ALLOW_HTTP: 'allows an http `TRACKER_URL` in production, for a private network',
  TRACKER_LOGIN: {
    default: 'from the tracker',
    meaning: 'GitHub, Gitea: the account of the token, if the token cannot read it (GitHub App)',
  },
  TRACKER_WEBHOOK_SECRET: 'GitHub, GitLab, Gitea: enables the webhook; at least 16 characters',
  TRACKER_STATUSES: {
    default: '`OPEN=New,IN_PROGRESS=In Progress,RESOLVED=Resolved,CLOSED=Closed,REOPENED=Feedback`',
    meaning: 'Redmine: its names; omitted entries keep their defaults',
  },
  TRACKER_PRIORITIES: {
    default: '`LOW=Low,MEDIUM=Normal,HIGH=High,URGENT=Urgent,CRITICAL=Immediate`',
    meaning: 'Redmine: its names; omitted entries keep their defaults',
  },
  TRACKER_ASSIGNEES: 'users for the assignees of imported issues: `octocat=ann@example.com,Jo Smith=<id>`',
  TRACKER_TYPE: {
    default: "the project's first",
    meaning: 'Redmine: the name of its tracker (Bug, Support, …) for new issues',
  },
  TRACKER_CUSTOM_FIELDS:
    'Redmine: values of required custom fields of new issues, by number: `5=web,7=A customer`',
  TRACKER_DEADLINE_MS: 'timeout of a sync during a request, and of a request to the tracker',
  TRACKER_BREAK_MS: 'how long the circuit breaker stays open after five consecutive failures',
  TRACKER_SETTLE_SECONDS: {
    default: '`120`; GitHub `600`',
    meaning:
      "time after which a request without a response cannot take effect any more; must exceed the delays of proxies and of the tracker's lists",
  },
  TRACKER_WRITE_INTERVAL_MS: {
    default: '`0`; GitHub `1000`',
    meaning: 'minimum time between two write requests of one process',
  },
  SYNC_CONFLICT_POLICY: '`local`, `remote`, `newest` or `manual`; also per field: `local,status=remote`',
  SYNC_AUTO:
    '`linked`: changes of issues with a remote issue are synced in the background; `all`: new issues too',
  SYNC_WORKERS: 'concurrent background syncs of one process; `0` disables them',
  SYNC_POLL_MS: 'interval in which a process polls for due syncs',
  SYNC_POLL_REMOTE_SECONDS:
    'with `SYNC_AUTO`: interval in which all replicas together poll the tracker for changes; `0` disables polling',
  SYNC_RETRY_SECONDS: 'delay before a failed sync is retried; doubles with each failure, up to an hour',
  SYNC_TIMEOUT_MS: 'timeout of a background sync',
} satisfies VariableReference<TrackerVariable>;
