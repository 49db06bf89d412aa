import { z } from 'zod';

/** What `oidc-provider.server.ts` is started with. */
export const oidcOptionsSchema = z.discriminatedUnion('storage', [
  z.strictObject({ storage: z.literal('memory'), grants: z.int().positive() }),
  z.strictObject({
    storage: z.literal('postgres'),
    /** An empty database. */
    databaseUrl: z.string(),
    grants: z.int().positive(),
  }),
]);
export type OidcOptions = z.infer<typeof oidcOptionsSchema>;

/** What it says when it is ready: a refresh and an access token of each of its grants, in the same order. */
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

/** What `better-auth.server.ts` is started with. */
export const betterAuthOptionsSchema = z.strictObject({
  /** scrypt is its default; bcrypt is of cost 10. */
  hash: z.enum(['scrypt', 'bcrypt']),
  /** An empty database. */
  databaseUrl: z.string(),
  users: z.int().positive(),
});
export type BetterAuthOptions = z.infer<typeof betterAuthOptionsSchema>;

/** What it says when it is ready: each user is signed in, with the Cookie header of the session. */
export const betterAuthReadySchema = z.strictObject({
  url: z.string(),
  signInPath: z.string(),
  sessionPath: z.string(),
  users: z.array(z.strictObject({ email: z.string(), password: z.string(), cookie: z.string() })),
});
export type BetterAuthReady = z.infer<typeof betterAuthReadySchema>;
