import { Writable } from 'node:stream';

/** Output of the service during a test file: a log line or a response. */
interface Emission {
  where: string;
  text: string;
  /** Whether the response may contain tokens, as those of identity's token endpoints do. */
  mayHoldTokens: boolean;
}

const emissions: Emission[] = [];
const secrets = new Set<string>();

const bcryptHash = /\$2[aby]\$\d\d\$[./A-Za-z0-9]{20,}/;
const jwt = /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{20,}/;
const privateKey = /PRIVATE KEY|"d":"|"p":"|"q":"/;

/** Registers a value (a password, a service token) that must not occur in any output. */
export function rememberSecret<Value extends string>(secret: Value): Value {
  // Short values, such as one letter, would match by chance.
  if (secret.length >= 8) secrets.add(secret);
  return secret;
}

export function recordEmission(where: string, text: string, mayHoldTokens = false): void {
  emissions.push({ where, text, mayHoldTokens });
}

/** A destination for the log of a service under test. Keeps the lines for the scan and for assertions. */
export function recordingLog(lines: string[] = []): Writable & { lines: string[] } {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      const text = String(chunk);
      lines.push(text);
      recordEmission('log', text);
      done();
    },
  });
  return Object.assign(stream, { lines });
}

/** The access-log line of a request, which is written after its response. */
export async function accessLine(
  lines: readonly string[],
  requestId: string,
): Promise<Record<string, unknown>> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const line = lines
      .map((text): Record<string, unknown> => JSON.parse(text))
      .find((entry) => entry.msg === 'request' && entry.request_id === requestId);
    if (line !== undefined) return line;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`The request ${requestId} has no access-log line.`);
}

/** Every secret in the recorded output, described without the secret. */
export function findLeaks(): string[] {
  return emissions.flatMap(({ where, text, mayHoldTokens }) => [
    ...(bcryptHash.test(text) ? [`${where}: a password hash`] : []),
    ...(privateKey.test(text) ? [`${where}: a private key`] : []),
    ...(!mayHoldTokens && jwt.test(text) ? [`${where}: a token`] : []),
    ...[...secrets]
      .filter((secret) => text.includes(secret))
      .map((secret) => `${where}: a secret (${secret.slice(0, 3)}…)`),
  ]);
}

/** Clears the recorded output; only for the tests of this module. */
export function forgetEmissions(): void {
  emissions.length = 0;
}
