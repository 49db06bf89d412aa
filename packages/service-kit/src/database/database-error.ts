import pg from 'pg';
import { type ProblemError, unavailableProblem } from '../http/problem.ts';
import { isRefusedAsReadOnly } from './standby.ts';

// SQL states: connection exceptions, invalid authorisation, deadlock or serialisation failure (rolled back, may be
// retried), insufficient resources, operator intervention (shutdown, cancelled by a timeout), no such database, lock
// not available, a prepared statement that a pooler moved (it did not run), a server that can only read. The codes and messages below are those of sockets, pg's pool and Prisma.
const unavailableSqlStates = /^(08|28|40|53|57)...$|^3D000$|^55P03$|^26000$|^42P05$|^25006$/;
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'P1000',
  'P1001',
  'P1002',
  'P1003',
  'P1008',
  'P1010',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
  'P2037',
  // The server's certificate is not accepted.
  'CERT_HAS_EXPIRED',
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'P1011',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
const unavailableMessages =
  /timeout exceeded when trying to connect|Connection terminated|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|DatabaseNotReachable|ConnectionClosed|SocketTimeout|TooManyConnections|TlsConnectionError|does not support SSL|during recovery|recovery is in progress|the server is a standby/i;

/**
 * Returns a 503 problem if the error, or one of its causes, means that the database is unavailable; otherwise
 * undefined.
 */
export function unavailableWhenDatabaseIsDown(error: unknown): ProblemError | undefined {
  const isUnavailable =
    hasCode(error, 0, isUnavailableCode) || hasUnavailableMessage(error, 0) || isRefused(error);
  if (!isUnavailable) return undefined;
  const detail = hasCode(error, 0, (code) => code === queryCanceled)
    ? tookTooLong
    : 'The database is unavailable.';
  return unavailableProblem(detail, 2, error);
}

/** The detail of the 503 of a statement or a transaction that has exceeded its time. */
export const tookTooLong = 'The request took too long in the database. Try again.';

// Almost always the statement timeout. The database itself is available.
const queryCanceled = '57014';

function hasCode(error: unknown, depth: number, isWanted: (code: string) => boolean): boolean {
  if (typeof error !== 'object' || error === null || depth > 6) return false;
  const codes = [read(error, 'code'), read(error, 'originalCode'), read(error, 'errorCode')];
  return (
    codes.some((code) => typeof code === 'string' && isWanted(code)) ||
    causes.some((member) => hasCode(read(error, member), depth + 1, isWanted))
  );
}

const causes = ['cause', 'meta', 'driverAdapterError'];

function isRefused(error: unknown): boolean {
  return typeof error === 'object' && error !== null && isRefusedAsReadOnly(error);
}

function isUnavailableCode(code: string): boolean {
  return unavailableCodes.has(code) || unavailableSqlStates.test(code);
}

function hasUnavailableMessage(error: unknown, depth: number): boolean {
  if (typeof error !== 'object' || error === null || depth > 6) return false;
  for (const text of [read(error, 'message'), read(error, 'kind')]) {
    if (typeof text === 'string' && unavailableMessages.test(text)) return true;
  }
  return causes.some((member) => hasUnavailableMessage(read(error, member), depth + 1));
}

const uniqueViolation = '23505';

/**
 * Returns the name of the unique index that a write violated; undefined for any other error. Prisma wraps the error of pg
 * (P2002): the cause of the driver adapter's error contains the index.
 */
export function violatedUniqueIndex(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError && error.code === uniqueViolation) return error.constraint;
  const cause = read(read(read(error, 'meta'), 'driverAdapterError'), 'cause');
  if (read(cause, 'kind') !== 'UniqueConstraintViolation') return undefined;
  const index = read(read(cause, 'constraint'), 'index');
  return typeof index === 'string' ? index : undefined;
}

function read(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, member) : undefined;
}
