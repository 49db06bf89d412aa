import { type KeyObject, randomUUID, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { AccessTokenClaims, RefreshTokenClaims, TokenResponse } from '@tessera/contracts';
import type { PrivateKey } from '../keys/key-files.ts';

/** The identity that a token is issued for, as currently stored. */
export interface TokenSubject {
  id: string;
  email: string;
  username: string;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
  /** The epoch of the session that the token belongs to. */
  sessionEpoch: number;
}

/** What an access token of a client says besides the claims of every access token (RFC 9068 2.2). */
export interface ClientClaims {
  audience: string | readonly string[];
  clientId: string;
  scope: readonly string[];
}

interface TokenIssuerOptions {
  key: PrivateKey;
  issuer: string;
  /** docs/spec/identity-service.md 2.3 leaves the value open. One audience is a string, several are an array. */
  audience: string | string[];
  accessTtlSeconds: number;
  /** The `typ` of access tokens: that of RFC 9068, or the general one for clients that require it. */
  accessTyp: 'at+jwt' | 'JWT';
}

// With a callback, Node signs on libuv's thread pool. jsonwebtoken and the synchronous form would block the event loop
// for about 0.8 ms per RSA-2048 signature.
const signOnThreadPool: (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer> =
  promisify(sign);

/** Issues the JWTs of docs/spec/identity-service.md 2.3 and 2.4, signed with RS256 and the active key. */
export class TokenIssuer {
  readonly #options: TokenIssuerOptions;
  // RFC 9068 2.1, RFC 8725 3.11: distinct `typ` values prevent the use of one kind of token as the other.
  readonly #accessHeader: string;
  readonly #refreshHeader: string;
  readonly #idHeader: string;

  constructor(options: TokenIssuerOptions) {
    this.#options = options;
    const { accessTyp, key } = options;
    const { kid } = key;
    this.#accessHeader = encode({ alg: 'RS256', typ: accessTyp, kid });
    this.#refreshHeader = encode({ alg: 'RS256', typ: 'rt+jwt', kid });
    this.#idHeader = encode({ alg: 'RS256', typ: 'JWT', kid });
  }

  /** docs/spec/identity-service.md 2.2 */
  present(accessToken: string, refreshToken: string): TokenResponse {
    return {
      access_token: accessToken,
      refresh_token: refreshToken,
      token_type: 'Bearer',
      expires_in: this.#options.accessTtlSeconds,
    };
  }

  get accessTtlSeconds(): number {
    return this.#options.accessTtlSeconds;
  }

  /** `issuedAt` is in seconds since the Unix epoch. */
  signAccessToken(subject: TokenSubject, issuedAt: number, client?: ClientClaims): Promise<string> {
    const { issuer, audience, accessTtlSeconds } = this.#options;
    const claims: AccessTokenClaims = {
      sub: subject.id,
      iss: issuer,
      aud: audience,
      iat: issuedAt,
      exp: issuedAt + accessTtlSeconds,
      jti: createAccessTokenId(subject.sessionEpoch),
      type: 'access',
      email: subject.email,
      username: subject.username,
      is_verified: subject.isVerified,
      is_staff: subject.isStaff,
      is_superuser: subject.isSuperuser,
    };
    if (client === undefined) return this.#sign(this.#accessHeader, claims);
    const { clientId: client_id, scope } = client;
    return this.#sign(this.#accessHeader, {
      ...claims,
      aud: client.audience,
      client_id,
      ...(scope.length === 0 ? {} : { scope: scope.join(' ') }),
    });
  }

  /** An ID token or a logout token of OpenID Connect: never a token of access, because its `iss` differs. */
  signForClient(claims: object, typ?: 'logout+jwt'): Promise<string> {
    const { kid } = this.#options.key;
    return this.#sign(typ === undefined ? this.#idHeader : encode({ alg: 'RS256', typ, kid }), claims);
  }

  /** The audience is the issuer, because only this service accepts refresh tokens. Times are in seconds. */
  signRefreshToken(token: {
    subjectId: string;
    jti: string;
    issuedAt: number;
    expiresAt: number;
  }): Promise<string> {
    const claims: RefreshTokenClaims = {
      sub: token.subjectId,
      iss: this.#options.issuer,
      aud: this.#options.issuer,
      iat: token.issuedAt,
      exp: token.expiresAt,
      jti: token.jti,
      type: 'refresh',
    };
    return this.#sign(this.#refreshHeader, claims);
  }

  async #sign(header: string, claims: object): Promise<string> {
    const input = `${header}.${encode(claims)}`;
    const signature = await signOnThreadPool('RSA-SHA256', Buffer.from(input), this.#options.key.key);
    return `${input}.${signature.toString('base64url')}`;
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/**
 * Creates the `jti` of an access token, of which `sessionEpochOf` reads the session epoch: a UUID of version 8 (RFC 9562 5.8)
 * with 90 random bits.
 */
function createAccessTokenId(sessionEpoch: number): string {
  const random = randomUUID();
  return `${sessionEpoch.toString(16).padStart(8, '0')}${random.slice(8, 14)}8${random.slice(15)}`;
}
