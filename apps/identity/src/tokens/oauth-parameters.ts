import type { IncomingMessage } from 'node:http';
import { isForm } from '@tessera/service-kit';
import { oauthProblem } from '../oauth-error.ts';

/**
 * The parameters of a JSON or form body, as they came: a form's unknown ones are ignored later (RFC 6749 3.2), and
 * repeated ones refused here.
 */
export function readParameters(request: IncomingMessage): unknown {
  if (!isForm(request)) return request.body ?? {};
  const parameters: Record<string, unknown> = { ...asObject(request.body) };
  const repeated = Object.keys(parameters).find((name) => Array.isArray(parameters[name]));
  if (repeated !== undefined) {
    throw oauthProblem('invalid_request', 'A parameter is given more than once.');
  }
  return parameters;
}

function asObject(body: unknown): object {
  return typeof body === 'object' && body !== null ? body : {};
}
