import type { ClientKind, ClientScope } from '@tessera/contracts';

/** A redirect URI that was refused, as the administrator sees it. */
export interface RedirectRefusal {
  at: string;
  sent: string;
  nearest: string | null;
  /** From 1. */
  differsAt: number | null;
}

/** A public key of a client (RFC 7517). */
export type ClientKey = Record<string, unknown>;

/** The values of a client that administrators set. */
export interface ClientSettings {
  name: string;
  redirectUris: readonly string[];
  postLogoutRedirectUris: readonly string[];
  backchannelLogoutUri: string | null;
  scopes: readonly ClientScope[];
  /** The audiences of its access tokens, the usual one first. */
  audiences: readonly string[];
  requirePkce: boolean;
  isFirstParty: boolean;
  /** The identity of a machine. */
  identityId: string | null;
  jwks: { keys: readonly ClientKey[] } | null;
}

/** The given values of a client; undefined for those that stay as they are. */
export type ClientInput = { [Key in keyof ClientSettings]?: ClientSettings[Key] | undefined };

/** A registered application. */
export interface Client extends ClientSettings {
  id: string;
  kind: ClientKind;
  secretHash: Uint8Array | null;
  previousSecretHash: Uint8Array | null;
  previousSecretExpiresAt: Date | null;
  createdAt: Date;
  /** When it was disabled for good. */
  disabledAt: Date | null;
  lastRefusal: RedirectRefusal | null;
}
