import { z } from 'zod';

const oidcCommonOptions = {
  grants: z.int().positive(),
  /** A refresh signs the ID token; with `jwt` the access token, too. */
  accessTokens: z.enum(['opaque', 'jwt']),
};

/** The options of `oidc-provider.server.ts`. */
export const oidcOptionsSchema = z.discriminatedUnion('storage', [
  z.strictObject({ storage: z.literal('memory'), ...oidcCommonOptions }),
  z.strictObject({
    storage: z.literal('postgres'),
    /** An empty database. */
    databaseUrl: z.string(),
    ...oidcCommonOptions,
  }),
]);
export type OidcOptions = z.infer<typeof oidcOptionsSchema>;

/** Its ready message: a refresh and an access token of each grant, in the same order. */
export const oidcReadySchema = z.strictObject({
  url: z.string(),
  refreshPath: z.string(),
  userinfoPath: z.string(),
  jwksPath: z.string(),
  discoveryPath: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  refreshTokens: z.array(z.string()),
  accessTokens: z.array(z.string()),
});
export type OidcReady = z.infer<typeof oidcReadySchema>;

/** The options of `better-auth.server.ts`. */
export const betterAuthOptionsSchema = z.strictObject({
  /** scrypt is its default; bcrypt has cost 10. */
  hash: z.enum(['scrypt', 'bcrypt']),
  /** An empty database. */
  databaseUrl: z.string(),
  users: z.int().positive(),
});
export type BetterAuthOptions = z.infer<typeof betterAuthOptionsSchema>;

/** Its ready message: each user has a session, whose Cookie header is `cookie`. */
export const betterAuthReadySchema = z.strictObject({
  url: z.string(),
  signInPath: z.string(),
  sessionPath: z.string(),
  users: z.array(z.strictObject({ email: z.string(), password: z.string(), cookie: z.string() })),
});
export type BetterAuthReady = z.infer<typeof betterAuthReadySchema>;
