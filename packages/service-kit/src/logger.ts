import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

export type { Logger } from 'pino';

/** Members that must never reach a log, wherever they turn up in a logged object. */
const secretMembers = [
  'password',
  'password_hash',
  'passwordHash',
  'access_token',
  'refresh_token',
  'token',
  'authorization',
  'x-service-token',
  'cookie',
];

/**
 * JSON lines on standard output, one object a line. Redaction is the second line of defence:
 * the first is that bodies and credentials are never logged.
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
      redact: {
        paths: secretMembers.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
        censor: '[redacted]',
      },
    },
    options.destination ?? pino.destination({ sync: false }),
  );
}
