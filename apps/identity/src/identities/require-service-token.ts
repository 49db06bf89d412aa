import { createHash, timingSafeEqual } from 'node:crypto';
import { type Logger, ProblemError } from '@tessera/service-kit';
import type { RequestHandler } from 'express';

const headerMaxLength = 512;

/**
 * identity-service.md 5: the service token is validated before any identity operation, and before the body is
 * read. 403 for a missing and for a wrong one alike. Several accepted values, the current one first, make a rotation
 * without an outage.
 */
export function requireServiceToken(accepted: readonly string[], logger: Logger): RequestHandler {
  const digests = accepted.map(sha256);
  return (request, _response, next) => {
    const values = request.headersDistinct['x-service-token'] ?? [];
    const [presented = ''] = values;
    const isPlausible = values.length === 1 && presented.length <= headerMaxLength;
    const place = isPlausible ? placeOf(sha256(presented), digests) : -1;
    if (place >= 0) {
      // Who is named here has not gone over to the current value yet.
      if (place > 0)
        logger.info({ request_id: request.requestId, ip: request.ip }, 'previous service token used');
      next();
      return;
    }
    logger.warn({ request_id: request.requestId, ip: request.ip }, 'service token refused');
    throw new ProblemError({
      status: 403,
      code: 'service_token_refused',
      detail: 'A valid X-Service-Token is required.',
    });
  };
}

// Digests have one length, and all are compared: neither length nor position shows in the time taken.
function placeOf(presented: Buffer, accepted: readonly Buffer[]): number {
  return accepted.map((digest) => timingSafeEqual(digest, presented)).indexOf(true);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
