import { z } from 'zod';
import { secretText, text, uuid } from '../text.schemas.ts';
import { passwordSchema } from './identity.schemas.ts';

/** POST /token. The e-mail address is not validated, because a malformed address matches no identity. */
export const passwordGrantSchema = z
  .object({
    grant_type: z.string().min(1, { error: 'must not be empty' }).meta({ example: 'password' }),
    email: text().min(1, { error: 'must not be empty' }).max(320),
    password: secretText().min(1, { error: 'must not be empty' }).max(4096),
    new_password: passwordSchema
      .max(4096)
      .optional()
      .describe(
        'The password of the person, to replace a temporary one. All sessions end, and this one begins. Ignored if the password is not temporary.',
      ),
  })
  .meta({ id: 'PasswordGrant' });
export type PasswordGrant = z.infer<typeof passwordGrantSchema>;

const refreshTokenField = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(8192, { error: 'must be at most 8192 characters' });

/** POST /token/refresh */
export const refreshRequestSchema = z
  .object({ refresh_token: refreshTokenField })
  .meta({ id: 'RefreshRequest' });
export type RefreshRequest = z.infer<typeof refreshRequestSchema>;

/** POST /token/revoke (RFC 7009 2.1 calls the parameter `token`). */
export const revokeRequestSchema = z.object({ token: refreshTokenField }).meta({ id: 'RevokeRequest' });

/** docs/spec/identity-service.md 2.2 */
export const tokenResponseSchema = z
  .object({
    access_token: z.string().describe('JWT, RS256.'),
    refresh_token: z.string().describe('JWT, RS256; can be used once.'),
    token_type: z.literal('Bearer'),
    expires_in: z.int().positive().describe('Access-token lifetime in seconds.'),
  })
  .meta({ id: 'TokenResponse' });
export type TokenResponse = z.infer<typeof tokenResponseSchema>;

const numericDate = z.int().nonnegative();
const audience = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

const registeredClaims = {
  sub: uuid(),
  iss: z.string().min(1),
  aud: audience,
  iat: numericDate,
  exp: numericDate,
  jti: uuid(),
};

/** docs/spec/identity-service.md 2.3. Verifiers ignore claims that are added later. */
export const accessTokenClaimsSchema = z
  .object({
    ...registeredClaims,
    type: z.literal('access'),
    email: z.string(),
    username: z.string(),
    is_verified: z.boolean(),
    is_staff: z.boolean(),
    is_superuser: z.boolean(),
  })
  .refine((claims) => claims.exp > claims.iat, { error: 'exp must be after iat', path: ['exp'] });
export type AccessTokenClaims = z.infer<typeof accessTokenClaimsSchema>;

/**
 * How often all sessions of the identity had ended when an access token was issued: the first 32 bits of a `jti` of version 8
 * (RFC 9562 5.8). The specification lists the claims of a token, so there is no claim for it.
 */
export function sessionEpochOf({ jti }: { jti: string }): number | undefined {
  return jti[14] === '8' ? Number.parseInt(jti.slice(0, 8), 16) : undefined;
}

/** docs/spec/identity-service.md 2.4 */
export const refreshTokenClaimsSchema = z
  .object({ ...registeredClaims, type: z.literal('refresh') })
  .refine((claims) => claims.exp > claims.iat, { error: 'exp must be after iat', path: ['exp'] });
export type RefreshTokenClaims = z.infer<typeof refreshTokenClaimsSchema>;

/** docs/spec/identity-service.md 2.8 */
export const userInfoSchema = z
  .object({
    sub: uuid(),
    email: z.string(),
    email_verified: z.boolean(),
    preferred_username: z.string(),
    name: z.string().optional().describe('The display name; absent without one.'),
  })
  .meta({ id: 'UserInfo' });
export type UserInfo = z.infer<typeof userInfoSchema>;
