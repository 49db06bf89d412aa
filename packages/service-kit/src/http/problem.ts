import { type FieldError, type Problem, type ProblemCode, problemsPath } from '@tessera/contracts';

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  422: 'Unprocessable Content',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** The members of a problem. The response contains all except `cause` and `logged`. */
export interface ProblemOptions {
  status: number;
  /** Stable and machine-readable. `problemReference` has its entry. */
  code: ProblemCode;
  /** A description for people. It contains no internals and no input that may be secret. */
  detail: string;
  errors?: FieldError[] | undefined;
  headers?: Record<string, string>;
  /** Further members of the body, in the representation of the API. */
  members?: Record<string, unknown>;
  /** The cause, which is only logged. */
  cause?: unknown;
  /** Members of the request's log lines, such as the reason for a refused token. Must not contain credentials. */
  logged?: Record<string, string>;
}

/** An error that refuses a request. The error handler writes it as the common error body. */
export class ProblemError extends Error {
  readonly status: number;
  readonly title: string;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors: FieldError[] | undefined;
  readonly headers: Record<string, string>;
  readonly members: Record<string, unknown>;
  readonly logged: Record<string, string>;

  constructor(options: ProblemOptions) {
    super(`${options.status} ${options.code}`, { cause: options.cause });
    this.name = 'ProblemError';
    this.status = options.status;
    this.title = titles[options.status] ?? 'Error';
    this.code = options.code;
    this.detail = options.detail;
    this.errors = options.errors;
    this.headers = options.headers ?? {};
    this.members = options.members ?? {};
    this.logged = options.logged ?? {};
  }
}

/** The setting of an app for the URL of the entries of the reference. */
export const problemsUrlSetting = 'problems URL';

/** The URL that begins the `type` of each error, for the public URL of a service. Its code follows. */
export function problemsUrlOf(publicUrl: string): string {
  return `${publicUrl.replace(/\/$/, '')}${problemsPath}/`;
}

/** The common error body (members of RFC 9457). */
export function problemBody(problem: ProblemError, requestId: string, problemsUrl: string): Problem {
  return {
    type: problemsUrl + problem.code,
    title: problem.title,
    status: problem.status,
    detail: problem.detail,
    code: problem.code,
    request_id: requestId,
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
    ...problem.members,
  };
}

/** 422 that names each invalid field. */
export function validationProblem(errors: FieldError[]): ProblemError {
  const fields = [...new Set(errors.map((error) => error.field))].join(', ');
  return new ProblemError({
    status: 422,
    code: 'validation_failed',
    detail: `The request is not valid: ${fields}.`,
    errors,
  });
}

/** 503 with `Retry-After`: a dependency is down or the service is overloaded; nothing was changed. */
export function unavailableProblem(detail: string, retryAfterSeconds: number, cause?: unknown): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'temporarily_unavailable',
    detail,
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
  });
}
