import type { AccessTokenClaims } from '@tessera/contracts';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { BearerError } from './errors.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { verifyRequest } from './verify-request.ts';

const claimsOf = Symbol('access token claims');

/**
 * Passes requests with a valid access token on and stores its claims for `accessTokenOf`; otherwise passes a
 * `BearerError` to the next error handler. `realm` is the realm of `WWW-Authenticate`.
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

/** Returns the claims that `requireAccessToken` has stored; throws without it. */
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

/** Writes a `BearerError` as a response with members of RFC 9457, for backends without their own error body. */
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
