export {
  BearerError,
  InvalidRequestError,
  InvalidTokenError,
  KeysUnavailableError,
  MissingTokenError,
} from './errors.ts';
export { type KeySource, localKeySource } from './key-source.ts';
export {
  type KeySourceEvent,
  type KeySourceStatus,
  RemoteKeySource,
  type RemoteKeySourceOptions,
} from './remote-key-source.ts';
export type { ClaimsByKind, TokenKind } from './token-claims.ts';
export { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from './token-verifier.ts';
export {
  type AuthorizedRequest,
  extractBearerToken,
  unverifiedTokenIds,
  verifyRequest,
} from './verify-request.ts';
