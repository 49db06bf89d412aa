import { createHash, timingSafeEqual } from 'node:crypto';
import { type Access, type Logger, ProblemError } from '@tessera/service-kit';

const headerMaxLength = 512;

/**
 * Validates the service token before the body is read (docs/spec/identity-service.md 5). A missing and a wrong token both get
 * 403. `accepted` lists the current token first, then the previous one, so that rotation needs no downtime.
 */
export function serviceTokenAccess(accepted: readonly string[], logger: Logger): Access<undefined> {
  const digests = accepted.map(sha256);
  return {
    headers: { 'Cache-Control': 'no-store' },
    identify: (request) => {
      const values = request.headersDistinct['x-service-token'] ?? [];
      const [presented = ''] = values;
      const isWellFormed = values.length === 1 && presented.length <= headerMaxLength;
      const index = isWellFormed ? indexOf(sha256(presented), digests) : -1;
      const caller = { request_id: request.requestId, ip: request.ip };
      if (index < 0) {
        logger.warn(caller, 'service token refused');
        throw new ProblemError({
          status: 403,
          code: 'service_token_refused',
          detail: 'A valid X-Service-Token is required.',
        });
      }
      // Tells operators which callers still send the previous token.
      if (index > 0) logger.info(caller, 'previous service token used');
    },
  };
}

// Constant time: compares every digest, and digests have equal length.
function indexOf(presented: Buffer, accepted: readonly Buffer[]): number {
  return accepted.map((digest) => timingSafeEqual(digest, presented)).indexOf(true);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
