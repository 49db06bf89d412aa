import { createHash, timingSafeEqual } from 'node:crypto';
import { type Access, type Logger, ProblemError } from '@tessera/service-kit';
import { z } from 'zod';

const headerMaxLength = 512;
/** Each request is compared with every token. */
const maxNamedTokens = 100;

/**
 * Reads `SERVICE_TOKENS`: lines of `name=digest`, with the SHA-256 digest of a token in hexadecimal digits. Empty lines and
 * lines that start with `#` are ignored. Messages name lines and never contain a value.
 */
export const namedServiceTokens = z
  .string()
  .transform((text, context): ReadonlyMap<string, Buffer> => {
    const tokens = new Map<string, Buffer>();
    const refuse = (message: string) => context.addIssue({ code: 'custom', message });
    for (const [index, line] of text.split('\n').entries()) {
      if (/^\s*(#.*)?$/.test(line)) continue;
      const [, name, digest] = /^\s*([a-z0-9][a-z0-9._-]{0,62})=([0-9a-f]{64})\s*$/i.exec(line) ?? [];
      if (name === undefined || digest === undefined)
        refuse(`line ${index + 1} must be name=digest, with 64 hexadecimal digits of SHA-256`);
      else if (tokens.has(name)) refuse(`line ${index + 1} repeats the name of another line`);
      else tokens.set(name, Buffer.from(digest, 'hex'));
    }
    if (tokens.size > maxNamedTokens) refuse(`must have at most ${maxNamedTokens} tokens`);
    return tokens;
  })
  .default(new Map());

/** The accepted service tokens. The order decides nothing: tokens differ. */
export interface ServiceTokens {
  current: string;
  /** Still accepted, so that rotation needs no downtime. */
  previous?: string | undefined;
  /** The SHA-256 digests of the tokens of single backends, by the backend's name. */
  named: ReadonlyMap<string, Buffer>;
}

/**
 * Validates the service token before the body is read (docs/spec/identity-service.md 5). A missing and a wrong token both get
 * 403. The name of a token goes to the access log and the audit trail.
 */
export function serviceTokenAccess(tokens: ServiceTokens, logger: Logger): Access<undefined> {
  const accepted = acceptedTokens(tokens);
  return {
    headers: { 'Cache-Control': 'no-store' },
    identify: (request) => {
      const values = request.headersDistinct['x-service-token'] ?? [];
      const [presented = ''] = values;
      const isWellFormed = values.length === 1 && presented.length <= headerMaxLength;
      const match = isWellFormed ? find(sha256(presented), accepted) : undefined;
      const caller = { request_id: request.requestId, ip: request.ip };
      if (match === undefined) {
        logger.warn(caller, 'service token refused');
        throw new ProblemError({
          status: 403,
          code: 'service_token_refused',
          detail: 'A valid X-Service-Token is required.',
        });
      }
      // Tells operators which callers still send the previous token.
      if (match.isPrevious === true) logger.info(caller, 'previous service token used');
      if (match.backend === undefined) return;
      request.backend = match.backend;
      request.logged = { ...request.logged, backend: match.backend };
    },
  };
}

interface AcceptedToken {
  digest: Buffer;
  isPrevious?: boolean;
  backend?: string;
}

function acceptedTokens({ current, previous, named }: ServiceTokens): AcceptedToken[] {
  return [
    { digest: sha256(current) },
    ...(previous === undefined ? [] : [{ digest: sha256(previous), isPrevious: true }]),
    ...Array.from(named, ([backend, digest]) => ({ digest, backend })),
  ];
}

// Constant time: compares every digest, and digests have equal length.
function find(presented: Buffer, accepted: readonly AcceptedToken[]): AcceptedToken | undefined {
  return accepted.filter(({ digest }) => timingSafeEqual(digest, presented))[0];
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
