import { issuesProblemReference } from './issues/problem-reference.ts';
import { trackerProblemReference } from './issues/tracker-problem-reference.ts';

/** The meaning of the `code` of an error, and the remedy of the caller. */
export interface ProblemEntry {
  readonly meaning: string;
  readonly action: string;
}

/** The codes of both services, of requests that reach no operation, and of identity. */
const commonReference = {
  bad_request: {
    meaning: 'The request is malformed.',
    action: 'Correct the body and its Content-Type. The same request fails again.',
  },
  body_too_large: {
    meaning: 'The body is larger than the operation accepts, or has too many parts.',
    action: 'Send a smaller body. The documentation of the service lists the limits.',
  },
  client_disabled: {
    meaning: 'The client is disabled for good.',
    action: 'Register a new client.',
  },
  client_gone: {
    meaning: 'The client closed the connection before the response.',
    action: 'Nothing: only the log has this code.',
  },
  client_not_found: {
    meaning: 'There is no client with this id.',
    action: 'Check the id in the list of clients.',
  },
  client_without_secret: {
    meaning: 'A public client has no secret.',
    action: 'Register a confidential client if the application can keep a secret.',
  },
  email_conflict: {
    meaning: 'Another identity has this e-mail address.',
    action: 'Choose another address, or look the identity up by its address.',
  },
  forbidden: {
    meaning: 'The user has no right to this operation.',
    action: 'Ask a member of the staff. `detail` says who may do it.',
  },
  headers_too_large: {
    meaning: 'The request line and the header have more than 16 KiB.',
    action: 'Send fewer or shorter headers, cookies or query parameters.',
  },
  identity_inactive: {
    meaning: 'The identity of the token is not active, or does not exist any more.',
    action: 'Sign in as another user, or ask an administrator to activate the identity.',
  },
  identity_not_found: {
    meaning: 'There is no identity with this id, e-mail address or account of a provider.',
    action: 'Check the value. A deleted identity is not found either.',
  },
  insufficient_scope: {
    meaning: 'The access token does not have the scope `openid`.',
    action: 'Request the scope `openid` when the person signs in.',
  },
  internal_error: {
    meaning: 'The service has failed. Its log has the cause under `request_id`.',
    action: 'Retry once if the request is idempotent, and tell the operator the `request_id`.',
  },
  invalid_client: {
    meaning: 'The client is unknown or disabled, or its credential is wrong.',
    action: 'Check the id and the secret. A rotated secret is valid for a limited time.',
  },
  invalid_grant: {
    meaning: 'The e-mail address and password, the code, or the refresh token, are not accepted.',
    action: 'Sign in again. A refresh token works once: store the new one of each response.',
  },
  invalid_request: {
    meaning: 'A credential or a parameter is missing, malformed or sent twice.',
    action: 'Send one `Authorization: Bearer` header, or each parameter once, as `detail` says.',
  },
  invalid_scope: {
    meaning:
      'The client may not have a requested scope, or a refresh asks for more than the sign-in granted.',
    action: 'Request fewer scopes, or register them for the client.',
  },
  invalid_target: {
    meaning: 'The client may not have tokens for the requested `resource`.',
    action: 'Register the audience for the client, or leave `resource` out.',
  },
  invalid_token: {
    meaning: 'The access token is invalid, has expired or was revoked.',
    action: 'Refresh the tokens and retry, or sign in again.',
  },
  malformed_body: {
    meaning: 'The body is not valid JSON, not a valid form, not UTF-8 or not complete.',
    action: 'Correct the body, its Content-Type and its Content-Length.',
  },
  malformed_path: {
    meaning: 'The path is not properly percent-encoded.',
    action: 'Encode each segment of the path, for example with encodeURIComponent.',
  },
  malformed_request: {
    meaning: 'The request is not valid HTTP.',
    action:
      'Check the client and the proxies between: the Host header, the length and the chunks of the body.',
  },
  method_not_allowed: {
    meaning: 'The path does not support this method.',
    action: 'Use one of the methods in the `Allow` header.',
  },
  not_found: {
    meaning: 'There is nothing at this path.',
    action: 'Compare the path with the API document.',
  },
  password_change_required: {
    meaning: 'The password is right, but temporary: it is only for choosing another one.',
    action: 'Ask the person for a password of their own, and send the sign-in again with `new_password`.',
  },
  password_expired: {
    meaning: 'The password is right, but it was temporary, and its 24 hours are over.',
    action: 'Ask an administrator for a new one. `npx pnpm@12 reset-password` sets one.',
  },
  request_timeout: {
    meaning: 'The request did not arrive in time.',
    action: 'Send it again, over a faster connection.',
  },
  service_token_refused: {
    meaning: 'The header `X-Service-Token` is missing or wrong.',
    action:
      'Send the service token of the identity service. During a rotation, the new and the previous one are valid.',
  },
  session_not_found: {
    meaning: 'The identity has no such session, or it has ended.',
    action: 'Read the list of sessions again.',
  },
  sso_conflict: {
    meaning: 'Another identity has this account of the provider (`sso_provider` and `sso_id`).',
    action: 'Look the identity up by its account.',
  },
  temporarily_unavailable: {
    meaning:
      'The database or another dependency is unavailable, or the service is overloaded. Nothing was changed.',
    action: 'Retry after the seconds in `Retry-After`.',
  },
  too_many_requests: {
    meaning: 'The caller has used up a limit of requests, or of attempts to sign in.',
    action: 'Wait for the seconds in `Retry-After`. `RateLimit` tells what is left.',
  },
  unauthorized: {
    meaning: 'The request has no access token, or no session of the web app.',
    action: 'Sign in, and send `Authorization: Bearer` with the access token.',
  },
  unauthorized_client: {
    meaning: 'The kind of the client does not permit this grant.',
    action: 'Use the code grant for people, and a machine client for `client_credentials`.',
  },
  unsupported_grant_type: {
    meaning: 'The token endpoint does not support this `grant_type`.',
    action: 'Use one of `grant_types_supported` in the discovery document.',
  },
  unsupported_media_type: {
    meaning: 'The media type, the charset or the encoding of the body is not supported.',
    action: 'Send JSON in UTF-8 without compression. The token endpoints accept forms too.',
  },
  unsupported_token_type: {
    meaning: 'The token to be revoked is not a refresh token.',
    action: 'Revoke the refresh token. Access tokens expire by themselves within minutes.',
  },
  unverified: {
    meaning: 'The e-mail address of the user is not verified.',
    action: 'Verify it, or ask an administrator to set `is_verified`, then refresh the tokens.',
  },
  validation_failed: {
    meaning: 'A field of the request is missing or invalid.',
    action: 'Correct the fields that `errors` names.',
  },
} as const satisfies Readonly<Record<string, ProblemEntry>>;

/** All values of `code`. Each error response has the URL of its entry as `type` (RFC 9457). */
export const problemReference = {
  ...commonReference,
  ...issuesProblemReference,
  ...trackerProblemReference,
};

/** A value of `code` in the responses of the services. */
export type ProblemCode = keyof typeof problemReference;

/** The path below which both services serve the entries, as `/api/problems/version_conflict`. */
export const problemsPath = '/api/problems';
