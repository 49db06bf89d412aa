import { clientScopes, isStorableText } from '@tessera/contracts';
import type { Client } from '../clients/client.ts';
import { isRegisteredRedirect } from '../clients/redirect-uri.ts';
import { isTooLongForAddress, isTooLongToCarry } from './carried-request.ts';
import type { Parameters, QueryParameters } from './parameters.ts';

/** A valid request of an application to sign a person in (OpenID Connect Core 3.1.2.1). */
export interface AuthorizationRequest {
  client: Client;
  redirectUri: string;
  state: string | undefined;
  nonce: string | null;
  /** The requested scopes that the client may have. */
  scope: readonly string[];
  /** The audience of the access tokens; null is the user information only. */
  resource: string | null;
  codeChallenge: string | null;
  prompt: ReadonlySet<string>;
  /** In seconds. */
  maxAge: number | null;
  loginHint: string | undefined;
  idTokenHint: string | undefined;
  uiLocales: string | undefined;
  /** The person of the ID token hint, if a page carries the request. */
  subject?: string | undefined;
  /** The parameters that travel in the forms of the pages. */
  parameters: ReadonlyArray<readonly [string, string]>;
}

/** Where an error of the request goes. */
export interface ErrorTarget {
  redirectUri: string;
  state: string | undefined;
}

/** An error that the application gets (RFC 6749 4.1.2.1, OpenID Connect Core 3.1.2.6, RFC 8707 2). */
export type AuthorizationErrorCode =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'
  | 'login_required'
  | 'consent_required'
  | 'access_denied'
  | 'temporarily_unavailable';

export type RequestOutcome =
  | { kind: 'request'; request: AuthorizationRequest }
  | { kind: 'error'; target: ErrorTarget; error: AuthorizationErrorCode; description: string }
  /** Nothing may go to the redirect URI. `sent`: the URI that is not registered. */
  | { kind: 'page'; refusal: 'unknown_client' | 'redirect_uri' | 'bad_request'; sent?: string };

// login_hint: an e-mail address (RFC 5321 4.5.3.1).
const lengths: Readonly<Record<string, number>> = { id_token_hint: 8_192, nonce: 1_024, login_hint: 320 };
const lengthMax = 4_096;

/** The parameters that the service reads. Others are ignored (RFC 6749 3.1). */
const knownNames = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'max_age',
  'login_hint',
  'id_token_hint',
  'ui_locales',
  'resource',
] as const;
const unsupported = {
  request: 'request_not_supported',
  request_uri: 'request_uri_not_supported',
  registration: 'registration_not_supported',
} as const;
const prompts = ['none', 'login', 'consent', 'select_account'];

class RequestError extends Error {
  readonly code: AuthorizationErrorCode;

  constructor(code: AuthorizationErrorCode, description: string) {
    super(description);
    this.code = code;
  }
}

/** Validates a request: first the client and its redirect URI, to which every later error goes. */
export function readAuthorizationRequest(
  { values, repeated }: QueryParameters,
  client: Client | undefined,
): RequestOutcome {
  if (client === undefined || repeated.has('client_id') || client.kind === 'machine')
    return { kind: 'page', refusal: 'unknown_client' };
  const redirectUri = values.get('redirect_uri');
  if (redirectUri === undefined || repeated.has('redirect_uri'))
    return { kind: 'page', refusal: 'bad_request' };
  if (!isRegisteredRedirect(client, redirectUri))
    return { kind: 'page', refusal: 'redirect_uri', sent: redirectUri };
  const state = repeated.has('state') || isTooLong(values, 'state') ? undefined : values.get('state');
  try {
    const [again] = repeated;
    if (again !== undefined && isKnown(again))
      throw new RequestError('invalid_request', 'A parameter is repeated.');
    return { kind: 'request', request: { ...readParts(values, client), client, redirectUri, state } };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { kind: 'error', target: { redirectUri, state }, error: error.code, description: error.message };
  }
}

const isKnown = (name: string) => (knownNames as readonly string[]).includes(name) || name in unsupported;
const isTooLong = (values: Parameters, name: string) =>
  name === 'state'
    ? isTooLongForAddress(values.get(name))
    : (values.get(name)?.length ?? 0) > (lengths[name] ?? lengthMax);

function readParts(
  values: Parameters,
  client: Client,
): Omit<AuthorizationRequest, 'client' | 'redirectUri' | 'state'> {
  for (const [name, error] of Object.entries(unsupported))
    if (values.has(name)) throw new RequestError(error, `The parameter ${name} is not supported.`);
  const long = knownNames.find((name) => isTooLong(values, name));
  if (long !== undefined) throw new RequestError('invalid_request', `The parameter ${long} is too long.`);
  const parameters = knownNames.flatMap((name) => {
    const value = name === 'id_token_hint' ? undefined : values.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  if (isTooLongToCarry(parameters)) throw new RequestError('invalid_request', 'The request is too long.');
  const type = values.get('response_type');
  if (type === undefined) throw new RequestError('invalid_request', 'response_type is required.');
  if (type !== 'code')
    throw new RequestError('unsupported_response_type', 'Only the response type code is supported.');
  if ((values.get('response_mode') ?? 'query') !== 'query')
    throw new RequestError('invalid_request', 'Only the response mode query is supported.');
  const nonce = values.get('nonce') ?? null;
  if (nonce !== null && !isStorableText(nonce))
    throw new RequestError('invalid_request', 'nonce has characters that cannot be stored.');
  return {
    nonce,
    scope: readScope(values, client),
    resource: readResource(values, client),
    codeChallenge: readChallenge(values, client),
    prompt: readPrompt(values),
    maxAge: readMaxAge(values),
    loginHint: values.get('login_hint'),
    idTokenHint: values.get('id_token_hint'),
    uiLocales: values.get('ui_locales'),
    parameters,
  };
}

// OpenID Connect Core 3.1.2.1: unknown scopes are ignored.
function readScope(values: Parameters, client: Client): string[] {
  const requested = new Set(values.get('scope')?.split(' '));
  const scope = clientScopes.filter((name) => requested.has(name) && client.scopes.includes(name));
  if (scope.length === 0) throw new RequestError('invalid_scope', 'The client may have none of the scopes.');
  return scope;
}

function readResource(values: Parameters, client: Client): string | null {
  const requested = values.get('resource');
  if (requested === undefined) return client.audiences[0] ?? null;
  if (!client.audiences.includes(requested))
    throw new RequestError('invalid_target', 'The client may not have tokens for this resource.');
  return requested;
}

// RFC 7636 4.3, RFC 9700 2.1.1: the challenge is required, and only S256 is accepted.
function readChallenge(values: Parameters, client: Client): string | null {
  const challenge = values.get('code_challenge');
  const method = values.get('code_challenge_method');
  if (challenge === undefined && method === undefined && !client.requirePkce) return null;
  if (challenge === undefined) throw new RequestError('invalid_request', 'code_challenge is required.');
  if (method !== 'S256')
    throw new RequestError('invalid_request', 'Only the code_challenge_method S256 is supported.');
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new RequestError('invalid_request', 'code_challenge must have 43 characters of base64url.');
  return challenge;
}

function readPrompt(values: Parameters): Set<string> {
  const prompt = new Set(
    values
      .get('prompt')
      ?.split(' ')
      .filter((value) => value !== ''),
  );
  if (![...prompt].every((value) => prompts.includes(value)) || (prompt.has('none') && prompt.size > 1))
    throw new RequestError(
      'invalid_request',
      'prompt must be none, or of login, consent and select_account.',
    );
  return prompt;
}

/** The greatest integer of the database, more than 68 years. */
const maxAgeMax = 2 ** 31 - 1;

function readMaxAge(values: Parameters): number | null {
  const text = values.get('max_age');
  if (text === undefined) return null;
  if (!/^\d+$/.test(text)) throw new RequestError('invalid_request', 'max_age must be a number of seconds.');
  return Math.min(Number(text), maxAgeMax);
}
