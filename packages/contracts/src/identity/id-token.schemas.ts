import { z } from 'zod';
import { uuid } from '../text.schemas.ts';

const numericDate = z.int().nonnegative();

/** OpenID Connect Core 2: what a client reads of an ID token. Verifiers ignore further claims. */
export const idTokenClaimsSchema = z.object({
  iss: z.string().min(1),
  sub: uuid(),
  aud: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
  iat: numericDate,
  exp: numericDate,
  nonce: z.string().optional(),
  /** The sign-in of the browser at identity. Logout tokens name it. */
  sid: z.string().min(1).max(200).optional(),
});
export type IdTokenClaims = z.infer<typeof idTokenClaimsSchema>;

/** The event of a logout token. */
export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** OpenID Connect Back-Channel Logout 2.4. A `nonce` is forbidden, so that an ID token is no logout token. */
export const logoutTokenClaimsSchema = z
  .object({
    ...idTokenClaimsSchema.omit({ sub: true, nonce: true }).shape,
    sub: uuid().optional(),
    jti: z.string().min(1),
    events: z.looseObject({ [logoutEvent]: z.looseObject({}) }),
    nonce: z.undefined().optional(),
  })
  .refine(({ sub, sid }) => sub !== undefined || sid !== undefined, {
    error: 'sub or sid must be present',
    path: ['sub'],
  });
export type LogoutTokenClaims = z.infer<typeof logoutTokenClaimsSchema>;
