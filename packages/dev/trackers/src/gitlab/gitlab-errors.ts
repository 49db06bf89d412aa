import { ErrorResponse } from '../server/exchange.ts';

// GitLab has two error shapes: `error` for parameters, `message` for everything else.
const parameter = (status: number, error: string): ErrorResponse =>
  new ErrorResponse({ status, body: { error } });
const message = (status: number, text: unknown): ErrorResponse =>
  new ErrorResponse({ status, body: { message: text } });

export const unauthorized = (): ErrorResponse => message(401, '401 Unauthorized');
// GitLab's lib/api/api_guard.rb, for a token with the scope read_api.
export const insufficientScope = (): ErrorResponse =>
  new ErrorResponse({
    status: 403,
    body: {
      error: 'insufficient_scope',
      error_description: 'The request requires higher privileges than provided by the access token.',
      scope: 'api',
    },
  });
export const projectNotFound = (): ErrorResponse => message(404, '404 Project Not Found');
export const issueNotFound = (): ErrorResponse => message(404, '404 Not found');
export const noSuchPath = (): ErrorResponse => parameter(404, '404 Not Found');
export const unreadable = (): ErrorResponse => parameter(400, 'message body does not match declared format');
export const missing = (name: string): ErrorResponse => parameter(400, `${name} is missing`);
export const notAllowed = (name: string): ErrorResponse =>
  parameter(400, `${name} does not have a valid value`);
export const labelExists = (): ErrorResponse => message(409, 'Label already exists');
export const blankNote = (): ErrorResponse =>
  message(400, `400 Bad request - Note {:note=>["can't be blank"]}`);

/** @param problems by field, in the words of GitLab's model */
export const invalid = (problems: Readonly<Record<string, readonly string[]>>): ErrorResponse =>
  message(400, problems);

export const nothingToChange = (names: readonly string[]): ErrorResponse =>
  parameter(400, `${names.join(', ')} are missing, at least one parameter must be provided`);

/** A 501 for a feature that GitLab has and the fake does not implement, so that no test relies on it. */
export const notImplemented = (what: string): ErrorResponse =>
  message(501, `the fake does not implement ${what}`);
