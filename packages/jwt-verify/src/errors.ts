/** What is wrong with a request's bearer credentials (RFC 6750 3): carries the status and the headers to send. */
export class BearerError extends Error {
  readonly status: number;
  /** RFC 6750 3.1's error code, or a code of the same kind. */
  readonly code: string;
  readonly headers: Record<string, string>;
  /** For the log alone; never holds a token. */
  readonly reason: string;

  constructor(options: {
    status: number;
    code: string;
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

/** 401: the request carries no bearer token. RFC 6750 3.1: then the challenge has no error code. */
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

/** 400: the Authorization header is malformed or given twice (RFC 6750 3.1 invalid_request). */
export class InvalidRequestError extends BearerError {
  override readonly name = 'InvalidRequestError';

  constructor(realm: string, reason: string) {
    const code = 'invalid_request';
    const message = 'The Authorization header is malformed.';
    const headers = challenge({ realm, error: code, error_description: message });
    super({ status: 400, code, message, reason, headers });
  }
}

/** 401: the token is not valid here; one public text for every reason (RFC 6750 3.1 invalid_token). */
export class InvalidTokenError extends BearerError {
  override readonly name = 'InvalidTokenError';

  /** `reason` says why, for the log: a rule's name, never the token. */
  constructor(reason: string, realm = 'api') {
    const code = 'invalid_token';
    const message = 'The token is not valid.';
    const headers = challenge({ realm, error: code, error_description: message });
    super({ status: 401, code, message, reason, headers });
  }
}

/** 503: no key is at hand and none can be fetched, so nobody knows whether the token is valid. Never a 401. */
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
