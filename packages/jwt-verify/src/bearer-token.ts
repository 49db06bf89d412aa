import { InvalidRequestError, MissingTokenError } from './errors.ts';

/** The part of a request that is read: `headersDistinct`, because `headers` drops a second Authorization header. */
export interface AuthorizedRequest {
  headersDistinct: NodeJS.Dict<string[]>;
}

// RFC 9110 11.4: one scheme in any case, then one token68.
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const bearerScheme = /^Bearer(?:[ \t]|$)/i;

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
