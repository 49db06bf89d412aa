import { types } from 'node:util';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

/** Members that are redacted at any depth of a logged object. */
const secretMembers = [
  'password',
  'password_hash',
  'passwordHash',
  'access_token',
  'refresh_token',
  'token',
  'authorization',
  'Authorization',
  'x-service-token',
  'cookie',
];

/**
 * Creates a logger that writes JSON lines to standard output. Redaction is a second line of defence, because callers
 * never log bodies and credentials.
 */
export function createLogger(options: {
  service: string;
  level: string;
  destination?: DestinationStream;
}): Logger {
  return pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: {
        paths: secretMembers.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
        censor: '[redacted]',
      },
    },
    // With a minLength of 0, pino's flush() would not wait for pending writes.
    options.destination ?? pino.destination({ sync: false, minLength: 4096, periodicFlush: 100 }),
  );
}

interface LoggedError {
  type: string;
  message: string;
  code?: string;
  stack: string | undefined;
  cause?: LoggedError;
}

/**
 * The only members of an error that are logged. Other members of libraries' errors contain requests with credentials
 * (axios), row values (pg) and bodies (body-parser).
 */
function describeError(error: unknown, depth = 0): LoggedError | undefined {
  if (error === undefined) return undefined;
  // `instanceof` would fail for errors of another realm, such as Node's errors in Jest.
  if (!types.isNativeError(error)) {
    return { type: typeof error, message: typeof error === 'string' ? error : 'no Error', stack: undefined };
  }
  const cause = depth < 5 ? describeError(error.cause, depth + 1) : undefined;
  return {
    type: error.name,
    message: error.message,
    ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
    stack: error.stack,
    ...(cause === undefined ? {} : { cause }),
  };
}
