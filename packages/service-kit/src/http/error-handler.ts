import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Request } from 'express';
import { unavailableWhenDatabaseIsDown } from '../database/database-error.ts';
import type { Logger } from '../observability/logger.ts';
import { ProblemError, type ProblemOptions, problemBody, problemsUrlSetting } from './problem.ts';

export interface ErrorHandlerOptions {
  logger: Logger;
  /** Converts an error of a library to a problem; undefined for other errors. */
  translate?: (error: unknown, request: Request) => ProblemError | undefined;
  /** Further members of the error body, such as OAuth's `error`. */
  extraMembers?: (problem: ProblemError, request: Request) => Record<string, unknown>;
  /** Writes the page of an error of an operation that browsers open (`page`). */
  sendErrorPage?:
    | ((problem: ProblemError, request: IncomingMessage, response: ServerResponse) => void)
    | undefined;
}

/** Writes errors as the common error body. Internals go only to the log, with the request's id. */
export function errorHandler({
  logger,
  translate,
  extraMembers,
  sendErrorPage,
}: ErrorHandlerOptions): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const problem = translate?.(error, request) ?? toProblem(error);
    const { code, status } = problem;
    const logged = { request_id: request.requestId, code, status, ...problem.logged };
    (request as IncomingMessage).logged = { ...request.logged, ...problem.logged };
    const cause = problem.cause ?? (error === problem ? undefined : error);
    if (problem.status < 500) logger.debug({ ...logged, err: cause }, 'request refused');
    // An overload has no cause. It is logged as a warning, because clients determine how often it occurs.
    else if (cause === undefined) logger.warn(logged, 'request refused');
    else logger.error({ ...logged, err: cause }, 'request failed');
    if (response.headersSent) {
      // Destroying the connection shows the client that the response is incomplete.
      response.destroy();
      return;
    }
    if (sendErrorPage !== undefined && (request as IncomingMessage).operation?.page) {
      sendErrorPage(problem, request, response);
      return;
    }
    const body = {
      ...problemBody(problem, request.requestId ?? '', request.app.get(problemsUrlSetting)),
      ...extraMembers?.(problem, request),
    };
    // Caches must not store errors, even if the handler set caching headers before it failed.
    response.set('Cache-Control', 'no-store').removeHeader('ETag');
    // Node's reason phrases are older than RFC 9110: "Payload Too Large".
    response.statusMessage = problem.title;
    response.status(problem.status).set(problem.headers).vary('Accept');
    if (request.accepts(['application/json', 'application/problem+json']) === 'application/problem+json') {
      response.type('application/problem+json');
    }
    response.json(body);
  };
}

function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  return (
    bodyProblem(error) ??
    unavailableWhenDatabaseIsDown(error) ??
    new ProblemError({
      status: 500,
      code: 'internal_error',
      detail: 'Internal error.',
      cause: error,
    })
  );
}

const bodyProblems: Record<string, ProblemOptions> = {
  'entity.parse.failed': { status: 400, code: 'malformed_body', detail: 'The body is not valid JSON.' },
  'entity.too.large': { status: 413, code: 'body_too_large', detail: 'The body is too large.' },
  'parameters.too.many': { status: 413, code: 'body_too_large', detail: 'The form has too many parameters.' },
  'encoding.unsupported': {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'The body must not be compressed.',
  },
  'charset.unsupported': { status: 415, code: 'unsupported_media_type', detail: 'The body must be UTF-8.' },
  'request.size.invalid': {
    status: 400,
    code: 'malformed_body',
    detail: 'The length of the body differs from Content-Length.',
  },
  'request.aborted': {
    status: 400,
    code: 'malformed_body',
    detail: 'The connection closed before the body was complete.',
  },
};

// Errors of body-parser carry a `type`; an undecodable path parameter is a URIError with status 400.
function bodyProblem(error: unknown): ProblemError | undefined {
  if (!(error instanceof Error)) return undefined;
  const known = 'type' in error && typeof error.type === 'string' ? bodyProblems[error.type] : undefined;
  if (known !== undefined) return new ProblemError({ ...known, cause: undefined });
  if (error instanceof URIError) {
    return new ProblemError({
      status: 400,
      code: 'malformed_path',
      detail: 'The path is not properly percent-encoded.',
    });
  }
  // Any other client error that Express or body-parser found, such as a broken form encoding.
  if ('expose' in error && error.expose === true && 'status' in error && typeof error.status === 'number') {
    return new ProblemError({
      status: error.status,
      code: 'bad_request',
      detail: 'The request is malformed.',
    });
  }
  return undefined;
}
