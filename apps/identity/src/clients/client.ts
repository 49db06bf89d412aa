import { clientKinds, clientScopes } from '@tessera/contracts';
import { z } from 'zod';

/** What the database does not say of the values of a client. */
export const storedClientSchema = z.object({
  kind: z.enum(clientKinds),
  scopes: z.array(z.enum(clientScopes)),
  /** Public keys (RFC 7517). */
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).nullable(),
  /** A redirect URI that was refused, as the administrator sees it. `differsAt` is from 1. */
  lastRefusal: z
    .object({
      at: z.string(),
      sent: z.string(),
      nearest: z.string().nullable(),
      differsAt: z.int().nullable(),
    })
    .nullable(),
});
type StoredClient = z.output<typeof storedClientSchema>;
export type RedirectRefusal = NonNullable<StoredClient['lastRefusal']>;

/** The values of a client that administrators set. */
export interface ClientSettings {
  name: string;
  redirectUris: readonly string[];
  postLogoutRedirectUris: readonly string[];
  backchannelLogoutUri: string | null;
  scopes: StoredClient['scopes'];
  /** The audiences of its access tokens, the usual one first. */
  audiences: readonly string[];
  requirePkce: boolean;
  isFirstParty: boolean;
  /** The identity of a machine. */
  identityId: string | null;
  jwks: StoredClient['jwks'];
}

/** The given values of a client; undefined for those that stay as they are. */
export type ClientInput = { [Key in keyof ClientSettings]?: ClientSettings[Key] | undefined };

/** A registered application. */
export interface Client extends ClientSettings, StoredClient {
  id: string;
  secretHash: Uint8Array | null;
  previousSecretHash: Uint8Array | null;
  previousSecretExpiresAt: Date | null;
  createdAt: Date;
  /** When it was disabled for good. */
  disabledAt: Date | null;
}
