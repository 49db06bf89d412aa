import { Refused } from '../server/exchange.ts';

// GitLab has two layers with a shape each: parameters are refused with `error`, all else with `message`.
const parameter = (status: number, error: string): Refused => new Refused({ status, body: { error } });
const message = (status: number, text: unknown): Refused => new Refused({ status, body: { message: text } });

export const unauthorized = (): Refused => message(401, '401 Unauthorized');
export const projectNotFound = (): Refused => message(404, '404 Project Not Found');
export const issueNotFound = (): Refused => message(404, '404 Not found');
export const noSuchPath = (): Refused => parameter(404, '404 Not Found');
export const unreadable = (): Refused => parameter(400, 'message body does not match declared format');
export const missing = (name: string): Refused => parameter(400, `${name} is missing`);
export const notAllowed = (name: string): Refused => parameter(400, `${name} does not have a valid value`);
export const blankNote = (): Refused => message(400, `400 Bad request - Note {:note=>["can't be blank"]}`);

/** @param problems by field, as the model words them */
export const invalid = (problems: Readonly<Record<string, readonly string[]>>): Refused =>
  message(400, problems);

export const nothingToChange = (names: readonly string[]): Refused =>
  parameter(400, `${names.join(', ')} are missing, at least one parameter must be provided`);

/** GitLab has it, the fake has not: said aloud, so that no test passes on a wrong answer. */
export const notImplemented = (what: string): Refused => message(501, `the fake does not know ${what}`);
