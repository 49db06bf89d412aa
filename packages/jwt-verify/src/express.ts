import type { AccessTokenClaims } from '@tessera/contracts';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { BearerError } from './errors.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { verifyRequest } from './verify-request.ts';

const claimsOf = Symbol('access token claims');

/**
 * Lets a request pass with a valid access token and keeps its claims for `accessTokenOf`; hands a `BearerError` to
 * the next error handler otherwise. `realm` names the protected surface in `WWW-Authenticate`.
 */
export function requireAccessToken(
  verifier: TokenVerifier<'access'>,
  { realm }: { realm: string },
): RequestHandler {
  return async (request, response, next) => {
    try {
      Reflect.set(response.locals, claimsOf, await verifyRequest(request, verifier, { realm }));
    } catch (error) {
      next(error);
      return;
    }
    next();
  };
}

/** The claims of the request's access token, behind `requireAccessToken`; throws without it. */
export function accessTokenOf(response: Response): Readonly<AccessTokenClaims> {
  const claims: Readonly<AccessTokenClaims> | undefined = Reflect.get(response.locals, claimsOf);
  if (claims === undefined) throw new Error('accessTokenOf needs requireAccessToken before it');
  return claims;
}

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  503: 'Service Unavailable',
};

/** Writes a `BearerError` as an answer (RFC 9457 members), for backends that have no error body of their own. */
export function bearerErrorHandler(): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (!(error instanceof BearerError) || response.headersSent) {
      next(error);
      return;
    }
    const { status, code, message, headers } = error;
    response
      .status(status)
      .set({ ...headers, 'Cache-Control': 'no-store' })
      .json({ title: titles[status], status, detail: message, code });
  };
}
