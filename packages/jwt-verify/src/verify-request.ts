import type { AccessTokenClaims } from '@tessera/contracts';
import { z } from 'zod';
import { InvalidRequestError, InvalidTokenError, MissingTokenError } from './errors.ts';
import type { TokenVerifier } from './token-verifier.ts';

/** The used part of a request: `headersDistinct`, because `headers` drops a second Authorization header. */
export interface AuthorizedRequest {
  headersDistinct: NodeJS.Dict<string[]>;
}

// RFC 9110 11.4: one scheme in any case, then one token68.
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const bearerScheme = /^Bearer(?:[ \t]|$)/i;

// Limited in length, so that a forged token cannot fill the log; without quotes and blanks.
const loggable = z.string().regex(/^[\w.:-]{1,64}$/);

/**
 * Returns the `kid` and `jti` of a request's bearer token, for the log line of a refused token. They are not verified,
 * so a caller can send any value. Absent if the token has none or the value has another form.
 */
export function unverifiedTokenIds({ headersDistinct }: AuthorizedRequest): { kid?: string; jti?: string } {
  const [header = '', payload = ''] =
    bearer.exec(headersDistinct.authorization?.[0] ?? '')?.[1]?.split('.') ?? [];
  const kid = loggable.safeParse(memberOf(header, 'kid')).data;
  const jti = loggable.safeParse(memberOf(payload, 'jti')).data;
  return { ...(kid === undefined ? {} : { kid }), ...(jti === undefined ? {} : { jti }) };
}

function memberOf(part: string, name: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the token of `Authorization: Bearer …` (RFC 6750 2.1); never reads query or body. Throws `MissingTokenError`
 * without a token or with another scheme, `InvalidRequestError` for several headers or malformed bearer credentials.
 */
export function extractBearerToken(request: AuthorizedRequest, realm: string): string {
  const values = request.headersDistinct.authorization ?? [];
  if (values.length > 1) throw new InvalidRequestError(realm, 'several Authorization headers');
  const [value] = values;
  if (value === undefined || !bearerScheme.test(value)) throw new MissingTokenError(realm);
  const token = bearer.exec(value)?.[1];
  if (token === undefined) throw new InvalidRequestError(realm, 'malformed bearer credentials');
  return token;
}

/**
 * Returns the claims of a request's access token, frozen. Throws a `BearerError` with `realm` in its challenge. For any
 * Node server; `@tessera/jwt-verify/express` has a middleware.
 */
export async function verifyRequest(
  request: AuthorizedRequest,
  verifier: TokenVerifier<'access'>,
  { realm }: { realm: string },
): Promise<Readonly<AccessTokenClaims>> {
  const token = extractBearerToken(request, realm);
  try {
    return await verifier.verify(token);
  } catch (error) {
    throw error instanceof InvalidTokenError ? new InvalidTokenError(error.reason, realm) : error;
  }
}
