import type { AccessTokenClaims } from '@tessera/contracts';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { extractBearerToken } from './bearer-token.ts';
import { BearerError, InvalidTokenError } from './errors.ts';
import type { TokenVerifier } from './token-verifier.ts';

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
      const claims = await verifier.verify(extractBearerToken(request, realm));
      Reflect.set(response.locals, claimsOf, claims);
    } catch (error) {
      next(error instanceof InvalidTokenError ? new InvalidTokenError(error.reason, realm) : error);
      return;
    }
    next();
  };
}

/** The claims of the request's access token, behind `requireAccessToken`. */
export function accessTokenOf(response: Response): AccessTokenClaims {
  const claims: AccessTokenClaims | undefined = Reflect.get(response.locals, claimsOf);
  if (claims === undefined) throw new Error('accessTokenOf needs requireAccessToken before it');
  return claims;
}

/** Writes a `BearerError` as an answer, for backends that have no error body of their own. */
export function bearerErrorHandler(): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (!(error instanceof BearerError)) {
      next(error);
      return;
    }
    response
      .status(error.status)
      .set(error.headers)
      .json({ status: error.status, code: error.code, detail: error.message });
  };
}
