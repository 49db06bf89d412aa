/** The reason for a token that is valid except that it has expired. */
export const expired = 'expired';
/** The reason for a token of a later time than that of this process. */
export const issuedInFuture = 'issued in the future';

type BearerErrorCode = 'unauthorized' | 'invalid_request' | 'invalid_token' | 'temporarily_unavailable';

/** An error of a request's bearer credentials (RFC 6750 3), with the status and headers of the response. */
export class BearerError extends Error {
  readonly status: number;
  /** An error code of RFC 6750 3.1, or a similar one. */
  readonly code: BearerErrorCode;
  readonly headers: Record<string, string>;
  /** The private reason for the log. It never contains a token. */
  readonly reason: string;

  constructor(options: {
    status: number;
    code: BearerErrorCode;
    message: string;
    reason: string;
    headers: Record<string, string>;
  }) {
    super(options.message);
    this.status = options.status;
    this.code = options.code;
    this.headers = options.headers;
    this.reason = options.reason;
  }
}

/** 401: the request has no bearer token. RFC 6750 3.1: the challenge has no error code in this case. */
export class MissingTokenError extends BearerError {
  override readonly name = 'MissingTokenError';

  constructor(realm: string) {
    super({
      status: 401,
      code: 'unauthorized',
      message: 'A bearer token is required.',
      reason: 'no bearer token',
      headers: challenge({ realm }),
    });
  }
}

/** 400: the Authorization header is malformed or repeated (RFC 6750 3.1 invalid_request). */
export class InvalidRequestError extends BearerError {
  override readonly name = 'InvalidRequestError';

  constructor(realm: string, reason: string) {
    const code = 'invalid_request';
    const message = 'The Authorization header is malformed.';
    const headers = challenge({ realm, error: code, error_description: message });
    super({ status: 400, code, message, reason, headers });
  }
}

/**
 * 401 (RFC 6750 3.1 invalid_token). The public text tells only whether the token has expired and is valid in every other
 * respect, so that a client knows that a new token helps.
 */
export class InvalidTokenError extends BearerError {
  override readonly name = 'InvalidTokenError';

  /** `reason` names the violated rule, for the log; it never contains the token. */
  constructor(reason: string, realm = 'api') {
    const code = 'invalid_token';
    const message = reason === expired ? 'The token has expired.' : 'The token is not valid.';
    const headers = challenge({ realm, error: code, error_description: message });
    super({ status: 401, code, message, reason, headers });
  }

  /** Whether the time of this process is the reason. */
  get isOfTime(): boolean {
    return this.reason === expired || this.reason === issuedInFuture;
  }
}

/** 503: no keys are available and none can be fetched, so the token can be neither accepted nor refused. */
export class KeysUnavailableError extends BearerError {
  override readonly name = 'KeysUnavailableError';
  readonly retryAfterSeconds: number;

  constructor(reason: string, retryAfterSeconds: number) {
    super({
      status: 503,
      code: 'temporarily_unavailable',
      message: 'Tokens cannot be verified right now.',
      reason,
      headers: { 'Retry-After': String(retryAfterSeconds) },
    });
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

// RFC 9110 11.6.1, with each value a quoted-string (5.6.4).
function challenge(parameters: Record<string, string>): Record<string, string> {
  const pairs = Object.entries(parameters).map(
    ([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`,
  );
  return { 'WWW-Authenticate': `Bearer ${pairs.join(', ')}` };
}
