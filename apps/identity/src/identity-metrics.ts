import { InvalidTokenError } from '@tessera/jwt-verify';
import { type Metrics, OutcomeCounter, ProblemError } from '@tessera/service-kit';
import type { SigningKeys } from './keys/signing-keys.ts';
import type { LogoutOutcome } from './oidc/logout-deliveries.ts';
import type { HashQueue, HashQueueObserver } from './passwords/hash-queue.ts';
import type { SignInOutcome } from './sign-in/sign-in.service.ts';
import type { RefusalReason } from './tokens/refresh-token.repository.ts';
import type { RefreshOutcome } from './tokens/token.service.ts';

/** Counts sign-ins by outcome. Like the response, `refused` does not distinguish reasons. */
export function signInOutcomes(metrics: Metrics): OutcomeCounter<SignInOutcome> {
  const counter = metrics.counter('identity_sign_ins_total', 'Sign-ins, by outcome.', ['outcome']);
  return new OutcomeCounter(counter, 'success', signInOutcomeOf);
}

/** Counts token refreshes by outcome. `reuse_detected` means that a token may have been stolen. */
export function refreshOutcomes(metrics: Metrics): OutcomeCounter<RefreshOutcome> {
  const counter = metrics.counter('identity_refreshes_total', 'Token refreshes, by outcome.', ['outcome']);
  return new OutcomeCounter(counter, 'rotated', refreshOutcomeOf);
}

// 422: a new password that replaces a temporary one is not accepted.
const signInOutcomesByStatus: Record<number, SignInOutcome> = {
  401: 'refused',
  408: 'client_gone',
  422: 'refused',
  429: 'limited',
  503: 'unavailable',
};

// The database throws errors that are not problems; the error handler maps them to 503 or 500 later.
function signInOutcomeOf(error: unknown): SignInOutcome {
  return (error instanceof ProblemError ? signInOutcomesByStatus[error.status] : undefined) ?? 'error';
}

const refusalReasons: ReadonlySet<unknown> = new Set<RefusalReason>([
  'unknown',
  'expired',
  'revoked',
  'reuse_in_leeway',
  'reuse_detected',
  'identity_gone',
  'wider_scope',
  'other_resource',
]);

function refreshOutcomeOf(error: unknown): RefreshOutcome {
  if (!(error instanceof ProblemError)) return 'error';
  if (isRefusalReason(error.cause)) return error.cause;
  if (error.cause instanceof InvalidTokenError) return 'invalid';
  if (error.status === 429) return 'limited';
  return error.status === 503 ? 'unavailable' : 'error';
}

function isRefusalReason(value: unknown): value is RefusalReason {
  return refusalReasons.has(value);
}

/** Counts the attempts to tell clients that a session has ended. */
export function logoutOutcomes(metrics: Metrics): (outcome: LogoutOutcome) => void {
  const help = 'Attempts to deliver logout tokens to clients, by outcome.';
  const counter = metrics.counter('identity_logout_tokens_total', help, ['outcome']);
  return (outcome) => counter.inc({ outcome });
}

/** Records how long bcrypt jobs wait and run. */
export function hashQueueObserver(metrics: Metrics): HashQueueObserver {
  const wait = metrics.histogram('identity_hash_wait_seconds', 'Time that a bcrypt job waited in the queue.');
  const work = metrics.histogram('identity_hash_duration_seconds', 'Duration of a bcrypt job.');
  return { onStart: (seconds) => wait.observe(seconds), onEnd: (seconds) => work.observe(seconds) };
}

export function observeHashQueue(metrics: Metrics, queue: HashQueue): void {
  const depth = metrics.gauge('identity_hash_queue_depth', 'bcrypt jobs in the queue.', [], () => {
    depth.set(queue.depth);
  });
}

/** Counts the rows that this replica's cleanup job has deleted, by table. */
export function cleanupDeletions(metrics: Metrics): (table: string, rows: number) => void {
  const help = 'Expired rows deleted, by table.';
  const counter = metrics.counter('identity_janitor_deletions_total', help, ['table']);
  return (table, rows) => counter.inc({ table }, rows);
}

/** Exposes the age of the active key. The age of a key from `JWT_PRIVATE_KEY` is unknown. */
export function observeKeyAge(metrics: Metrics, { active }: SigningKeys): void {
  const help = 'Age of the active signing key.';
  const age = metrics.gauge('identity_signing_key_age_seconds', help, ['kid'], () => {
    if (active.madeAt === undefined) return;
    age.set({ kid: active.kid }, (Date.now() - active.madeAt.getTime()) / 1000);
  });
}

const countIntervalMs = 60_000;

/**
 * Exposes the number of active sessions of all replicas. The query scans all sessions, so it runs at most once a
 * minute; if it fails, the gauge keeps the last count.
 */
export function observeSessions(metrics: Metrics, count: () => Promise<number>): void {
  let countedAt = Number.NEGATIVE_INFINITY;
  const gauge = metrics.gauge(
    'identity_active_sessions',
    'Active sessions across all replicas.',
    [],
    async () => {
      if (performance.now() - countedAt < countIntervalMs) return;
      countedAt = performance.now();
      const sessions = await count().catch(() => undefined);
      if (sessions !== undefined) gauge.set(sessions);
    },
  );
}
