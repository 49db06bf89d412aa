export { type AuthorizedRequest, extractBearerToken } from './bearer-token.ts';
export {
  BearerError,
  InvalidRequestError,
  InvalidTokenError,
  KeysUnavailableError,
  MissingTokenError,
} from './errors.ts';
export { type KeySource, localKeySource } from './key-source.ts';
export { type KeySourceStatus, RemoteKeySource, type RemoteKeySourceOptions } from './remote-key-source.ts';
export {
  type ClaimsByKind,
  createTokenVerifier,
  type TokenKind,
  type TokenVerifier,
  type TokenVerifierOptions,
} from './token-verifier.ts';
