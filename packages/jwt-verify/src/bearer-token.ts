import type { IncomingHttpHeaders } from 'node:http';
import { InvalidRequestError, MissingTokenError } from './errors.ts';

/** A request as far as this needs one: Node's distinct headers, since the joined ones hide a second header. */
export interface AuthorizedRequest {
  headersDistinct: NodeJS.Dict<string[]>;
  headers: IncomingHttpHeaders;
}

// RFC 7235 2.1: one scheme, one token68.
const bearer = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * The token of `Authorization: Bearer …` (RFC 6750 2.1); query and body are never read. Throws `MissingTokenError`
 * without one or with another scheme, `InvalidRequestError` for two headers or a malformed one.
 */
export function extractBearerToken(request: AuthorizedRequest, realm: string): string {
  const values = request.headersDistinct.authorization ?? [];
  const [value] = values;
  if (value === undefined || !/^Bearer\b/i.test(value)) throw new MissingTokenError(realm);
  if (values.length > 1) throw new InvalidRequestError(realm, 'several Authorization headers');
  const token = bearer.exec(value)?.[1];
  if (token === undefined) throw new InvalidRequestError(realm, 'malformed bearer credentials');
  return token;
}
