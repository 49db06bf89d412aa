import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import type { Api, Operation, OperationResponse } from '../src/operation.ts';
import { oauthProblemSchema, problemSchema } from '../src/problem.ts';

const descriptions: Record<number, string> = {
  400: 'The path, a header or the body cannot be read.',
  401: 'No valid credential.',
  403: 'The credential does not permit this.',
  404: 'There is no such thing.',
  405: 'The path exists, and does not answer this method.',
  406: 'No representation that the client accepts.',
  409: 'The request conflicts with the present state; `code` says how.',
  412: 'The precondition does not hold any more.',
  413: 'The body is too large.',
  415: 'The body is of another media type, charset or encoding.',
  422: 'The request can be read and is not valid; `errors` names each refused field.',
  428: 'A precondition is required.',
  429: 'Too many requests or attempts.',
  500: 'An error in the service; `request_id` finds it in the log.',
  502: 'Another service gave an answer that cannot be used.',
  503: 'A dependency is down, or the service is at its limit.',
  504: 'Another service did not answer in time.',
};

const requestIdHeader = headerComponent('X-Request-Id', 'Names this request in the log.');
const retryAfterHeader = headerComponent('Retry-After', 'When to try again, in seconds.');
const headersByStatus: Record<number, Record<string, z.ZodType>> = {
  401: { 'WWW-Authenticate': headerComponent('WWW-Authenticate', 'The challenge (RFC 9110 11.6.1).') },
  405: { Allow: headerComponent('Allow', 'The methods that the path answers.') },
  429: { 'Retry-After': retryAfterHeader },
  503: { 'Retry-After': retryAfterHeader },
};

function headerComponent(id: string, description: string): z.ZodType {
  return z.string().meta({ description, header: { id } });
}

/** All responses of an operation: its own, the errors that are always possible, and what `secured` adds. */
export function responsesOf(operation: Operation, secured: Api['secured']): ZodOpenApiResponsesObject {
  const always = operation.body === undefined ? [400, 500, 503] : [400, 413, 415, 500, 503];
  const own = Object.entries(operation.responses).map(([status, response]) => [
    status,
    ownResponse(response, secured?.headers),
  ]);
  const shared = always.map((status) => [status, sharedProblem(status, operation.oauth)]);
  const problems = [...(operation.problems ?? []), ...(secured?.problems ?? [])].map((problem) =>
    typeof problem === 'number'
      ? [problem, sharedProblem(problem, operation.oauth)]
      : [problem.status, describeProblem(problem.status, problem.description, operation.oauth)],
  );
  return Object.fromEntries([...shared, ...problems, ...own]);
}

function ownResponse(
  { description, schema, headers }: OperationResponse,
  further: Readonly<Record<string, z.ZodType>> = {},
): ZodOpenApiResponseObject {
  return {
    description,
    headers: z.object({ 'X-Request-Id': requestIdHeader, ...headers, ...further }),
    ...(schema === undefined ? {} : { content: { 'application/json': { schema } } }),
  };
}

// One object per status: zod-openapi recognises a component by its identity.
const sharedProblems = new Map<string, ZodOpenApiResponseObject>();

function sharedProblem(status: number, oauth = false): ZodOpenApiResponseObject {
  const description = descriptions[status];
  if (description === undefined) throw new Error(`The status ${status} needs a description of its own.`);
  const id = `${oauth ? 'OAuthProblem' : 'Problem'}${status}`;
  const known = sharedProblems.get(id) ?? { id, ...describeProblem(status, description, oauth) };
  sharedProblems.set(id, known);
  return known;
}

function describeProblem(status: number, description: string, oauth = false): ZodOpenApiResponseObject {
  const schema = oauth ? oauthProblemSchema : problemSchema;
  return {
    description,
    headers: z.object({ 'X-Request-Id': requestIdHeader, ...headersByStatus[status] }),
    content: { 'application/json': { schema }, 'application/problem+json': { schema } },
  };
}
