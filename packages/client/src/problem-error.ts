import type { FieldError, identityApi, issuesApi, Problem, ProblemCodeOf } from '@tessera/contracts';

type Operations = (typeof issuesApi.operations | typeof identityApi.operations)[number];
/** The `operationId` of an operation in the OpenAPI documents, such as `changeIssueStatus`. */
export type OperationId = Operations['id'];

/**
 * The values of `code` after a call of an operation; by default of all operations. The client adds `no_response`,
 * `unexpected_response` (the response of a proxy) and `signed_out`. A later release of a service may add values.
 */
export type ProblemCode<Id extends OperationId = OperationId> =
  | { [Op in Operations as Op['id']]: ProblemCodeOf<Op> }[Id]
  | 'no_response'
  | 'unexpected_response'
  | 'signed_out';

/** An error response of a service. If there was no response, `status` is 0 and `code` is `no_response`. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The stable, machine-readable error code, such as `version_conflict`. */
  readonly code: ProblemCode;
  /** The URL of a page that says what the code means and what to do (RFC 9457); `about:blank` if the response has none. */
  readonly type: string;
  /** A description for people. */
  readonly detail: string;
  /** The invalid fields of a 422; otherwise empty. */
  readonly errors: readonly FieldError[];
  /** The id of the request in the log of the service. */
  readonly requestId: string | undefined;
  /** The requested delay before a retry (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The method of the request; undefined if there was none. */
  readonly method: string | undefined;
  /** The URL of the request without its query, which may have words of people; undefined if there was none. */
  readonly url: string | undefined;
  /** The whole error body, with further members such as `issue` of a `version_conflict`. */
  readonly body: Partial<Problem>;

  constructor(
    body: Partial<Problem>,
    retryAfterMs?: number,
    { method, url, ...options }: ErrorOptions & { method?: string; url?: string } = {},
  ) {
    const { status = 0, code = 'no_response', detail = 'The service did not respond.' } = body;
    const request = url === undefined ? '' : ` (${method} ${url})`;
    super(`${status === 0 ? '' : `${status} `}${code}: ${detail}${request}`, options);
    this.method = method;
    this.url = url;
    this.status = status;
    this.code = code as ProblemCode;
    this.type = body.type ?? 'about:blank';
    this.detail = detail;
    this.errors = body.errors ?? [];
    this.requestId = body.request_id;
    this.retryAfterMs = retryAfterMs;
    this.body = body;
  }
}

/**
 * Whether the error is a `ProblemError`. The type argument names the called operation and narrows `code` to its values:
 * `isProblem<'changeIssueStatus'>(error)`.
 */
export function isProblem<Id extends OperationId>(
  error: unknown,
): error is ProblemError & { readonly code: ProblemCode<Id> } {
  return error instanceof ProblemError;
}
