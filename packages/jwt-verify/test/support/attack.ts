import type { KeyObject } from 'node:crypto';
import { createJws, rs256 } from './jws.ts';

/** The properties of a token that a verifier accepts. */
export interface AttackContext {
  kind: 'access' | 'refresh';
  /** The key that the verifier trusts under `kid`, RSA of 2048 bits. */
  privateKey: KeyObject;
  kid: string;
  /** The `typ` of a valid token. */
  typ: string;
  /** The claims of a valid token, issued now; `aud` is one string. */
  claims: Readonly<Record<string, unknown>> & {
    readonly iss: string;
    readonly aud: string;
    readonly iat: number;
    readonly exp: number;
  };
  clockToleranceSeconds: number;
  /** A server that must get no request while the attacks run. */
  listenerUrl: string;
}

/** A token that must be refused. `reason` matches the private reason of the error. */
export interface Attack {
  name: string;
  token: string;
  reason: RegExp;
}

/** Creates tokens that are valid except for the given changes. */
export interface Forge {
  readonly header: Readonly<Record<string, unknown>>;
  /** Correctly signed with the trusted key. A member that is `undefined` is omitted. */
  signed(changes: { header?: Record<string, unknown>; claims?: Record<string, unknown> }): string;
  /** Correctly signed, with literal text or bytes as header or payload. */
  signedRaw(parts: { header?: unknown; payload?: unknown }): string;
}

export function createForge({ privateKey, kid, typ, claims }: AttackContext): Forge {
  const header = { alg: 'RS256', typ, kid };
  const signedRaw: Forge['signedRaw'] = (parts) =>
    createJws(parts.header ?? header, parts.payload ?? claims, rs256(privateKey));
  return {
    header,
    signedRaw,
    signed: (changes) =>
      signedRaw({ header: { ...header, ...changes.header }, payload: { ...claims, ...changes.claims } }),
  };
}

/** Attacks, by name, that the same rule refuses. */
export function refusedBy(reason: RegExp, tokens: Readonly<Record<string, string>>): Attack[] {
  return Object.entries(tokens).map(([name, token]) => ({ name, token, reason }));
}
