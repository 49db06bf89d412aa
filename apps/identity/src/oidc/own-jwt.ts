import type { KeyObject } from 'node:crypto';
import { accessTokenClaimsSchema, uuid } from '@tessera/contracts';
import { InvalidTokenError } from '@tessera/jwt-verify';
import { z } from 'zod';
import { isSignedBy, type Jws, parseJws } from './jws.ts';

const hintSchema = z.object({ iss: z.string(), sub: uuid(), aud: z.string(), sid: uuid() });

/** The claims of an ID token that a client shows again. */
export type IdTokenHint = z.output<typeof hintSchema>;

const accessSchema = z.intersection(
  accessTokenClaimsSchema,
  z.object({ iss: z.string(), client_id: uuid(), scope: z.string().default('') }),
);

/** The claims of an access token of a client. */
export type ClientAccessClaims = z.output<typeof accessSchema>;

/** Returns a token that the service has signed with one of the keys. */
async function readOwn(token: string, keys: ReadonlyMap<string, KeyObject>): Promise<Jws | undefined> {
  const jws = parseJws(token);
  const key = keys.get(jws?.kid ?? '');
  if (jws === undefined || key === undefined || jws.algorithm !== 'RS256') return undefined;
  return (await isSignedBy(jws, key)) ? jws : undefined;
}

/** Verifies an ID token of an earlier sign-in. It may have expired (RP-Initiated Logout 2). */
export async function readIdTokenHint(
  token: string,
  { issuer, keys }: { issuer: string; keys: ReadonlyMap<string, KeyObject> },
): Promise<IdTokenHint | undefined> {
  const jws = await readOwn(token, keys);
  const { data } = hintSchema.safeParse(jws?.claims);
  // A logout token has the same issuer and another type.
  return data?.iss === issuer && jws?.typ === 'JWT' ? data : undefined;
}

/** Verifies an access token of a client, for whichever resource it is. Throws an `InvalidTokenError`. */
export async function readClientAccessToken(
  token: string,
  { issuer, keys, realm }: { issuer: string; keys: ReadonlyMap<string, KeyObject>; realm: string },
): Promise<ClientAccessClaims> {
  const jws = await readOwn(token, keys);
  if (jws === undefined) throw new InvalidTokenError('not a token of this service', realm);
  const { data } = accessSchema.safeParse(jws.claims);
  if (data === undefined || data.iss !== issuer)
    throw new InvalidTokenError('not an access token of a client', realm);
  if (data.exp <= Math.floor(Date.now() / 1000)) throw new InvalidTokenError('expired', realm);
  return data;
}
