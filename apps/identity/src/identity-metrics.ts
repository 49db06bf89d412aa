import { InvalidTokenError } from '@tessera/jwt-verify';
import { type Metrics, OutcomeCounter, ProblemError } from '@tessera/service-kit';
import type { SigningKeys } from './keys/signing-keys.ts';
import type { HashQueue, HashQueueObserver } from './passwords/hash-queue.ts';
import type { RefusalReason } from './tokens/refresh-token.repository.ts';

export type SignInOutcome = 'success' | 'refused' | 'limited' | 'unavailable' | 'client_gone' | 'error';
export type RefreshOutcome = 'rotated' | RefusalReason | 'invalid' | 'unavailable' | 'error';

/** Sign-ins by how they ended. Why one was refused is told to nobody, here neither. */
export function signInOutcomes(metrics: Metrics): OutcomeCounter<SignInOutcome> {
  const counter = metrics.counter('identity_sign_ins_total', 'Sign-ins, by outcome.', ['outcome']);
  return new OutcomeCounter(counter, 'success', signInOutcomeOf);
}

/** Refreshes by how they ended: `reuse_detected` means that somebody may have stolen a token. */
export function refreshOutcomes(metrics: Metrics): OutcomeCounter<RefreshOutcome> {
  const counter = metrics.counter('identity_refreshes_total', 'Token refreshes, by outcome.', ['outcome']);
  return new OutcomeCounter(counter, 'rotated', refreshOutcomeOf);
}

const signInOutcomesByStatus: Record<number, SignInOutcome> = {
  401: 'refused',
  408: 'client_gone',
  429: 'limited',
  503: 'unavailable',
};

// What is no problem yet was thrown by the database; the error handler decides whether it is down.
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
]);

function refreshOutcomeOf(error: unknown): RefreshOutcome {
  if (!(error instanceof ProblemError)) return 'error';
  if (isRefusalReason(error.cause)) return error.cause;
  if (error.cause instanceof InvalidTokenError) return 'invalid';
  return error.status === 503 ? 'unavailable' : 'error';
}

function isRefusalReason(value: unknown): value is RefusalReason {
  return refusalReasons.has(value);
}

/** How long jobs wait for a place, and how long they work. */
export function hashQueueObserver(metrics: Metrics): HashQueueObserver {
  const wait = metrics.histogram('identity_hash_wait_seconds', 'How long a bcrypt job waited for its turn.');
  const work = metrics.histogram('identity_hash_duration_seconds', 'How long a bcrypt job took.');
  return { onStart: (seconds) => wait.observe(seconds), onEnd: (seconds) => work.observe(seconds) };
}

export function observeHashQueue(metrics: Metrics, queue: HashQueue): void {
  const depth = metrics.gauge('identity_hash_queue_depth', 'bcrypt jobs that wait now.', [], () => {
    depth.set(queue.depth);
  });
}

/** Rows that this replica's janitor deleted, by table. */
export function janitorDeletions(metrics: Metrics): (table: string, rows: number) => void {
  const help = 'Rows past their time that were deleted, by table.';
  const counter = metrics.counter('identity_janitor_deletions_total', help, ['table']);
  return (table, rows) => counter.inc({ table }, rows);
}

/** The age of the key that signs, where it is known: a lone `JWT_PRIVATE_KEY` has none. */
export function observeKeyAge(metrics: Metrics, { active }: SigningKeys): void {
  const help = 'Age of the key that signs.';
  const age = metrics.gauge('identity_signing_key_age_seconds', help, ['kid'], () => {
    if (active.madeAt === undefined) return;
    age.set({ kid: active.kid }, (Date.now() - active.madeAt.getTime()) / 1000);
  });
}

const countedForMs = 60_000;

/**
 * Active sessions, of all replicas together; counted at most once a minute, since it takes a look at each. Where the
 * database cannot tell, the last count stands.
 */
export function observeSessions(metrics: Metrics, count: () => Promise<number>): void {
  let countedAt = Number.NEGATIVE_INFINITY;
  const gauge = metrics.gauge(
    'identity_active_sessions',
    'Sessions that have not ended, of all replicas together.',
    [],
    async () => {
      if (performance.now() - countedAt < countedForMs) return;
      countedAt = performance.now();
      const sessions = await count().catch(() => undefined);
      if (sessions !== undefined) gauge.set(sessions);
    },
  );
}
