import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import {
  type Api,
  type Operation,
  type OperationProblem,
  type OperationResponse,
  problemsOf,
} from '../src/operation.ts';
import { commonCodes, oauthProblemSchema, problemSchema } from '../src/problem.schemas.ts';

const descriptions: Record<number, string> = {
  400: 'The path, a header or the body is malformed.',
  401: 'The credential is missing or invalid.',
  403: 'The caller has no right to this operation.',
  404: 'The resource does not exist.',
  405: 'The path does not support this method.',
  406: 'No acceptable representation.',
  408: 'The body took too long to arrive. The request can be sent again.',
  409: 'The request conflicts with the current state; `code` states how.',
  411: 'The request has no `Content-Length`.',
  412: 'The precondition failed.',
  413: 'The body is too large.',
  415: 'The media type, charset or encoding of the body is not supported.',
  416: 'The resource has no byte of the range.',
  422: 'The request is invalid; `errors` names each invalid field.',
  428: 'A precondition is required.',
  429: 'Too many requests or attempts.',
  500: 'Internal error; the log has it under `request_id`.',
  502: 'Another service returned an invalid response.',
  503: 'A dependency is unavailable, or the service is overloaded.',
  504: 'Another service did not respond in time.',
};

const requestIdHeader = headerComponent('X-Request-Id', 'The id of the request in the log.');
const retryAfterHeader = headerComponent('Retry-After', 'The time until a retry, in seconds.');
const ignoredHeader = z
  .string()
  .optional()
  .meta({
    description: 'The members of the body that were ignored, as in a successful response.',
    header: { id: 'X-Ignored-Fields' },
  });
const headersByStatus: Record<number, Record<string, z.ZodType>> = {
  400: {
    'WWW-Authenticate': z.string().optional().describe('The challenge, if `Authorization` is malformed.'),
  },
  401: { 'WWW-Authenticate': headerComponent('WWW-Authenticate', 'The challenge (RFC 9110 11.6.1).') },
  405: { Allow: headerComponent('Allow', 'The methods of the path.') },
  409: {
    'Retry-After': z
      .string()
      .optional()
      .describe('The time until a retry, in seconds, if the conflict ends by itself.'),
  },
  429: { 'Retry-After': retryAfterHeader },
  503: { 'Retry-After': retryAfterHeader },
};

/** The statuses of errors that are only found after the body is parsed. */
const statusesAfterParsing = [400, 403, 404, 409, 412, 422, 428, 502, 503, 504];

function headerComponent(id: string, description: string): z.ZodType {
  return z.string().meta({ description, header: { id } });
}

/**
 * Returns all responses of an operation: the declared ones, the errors that are always possible, and those of
 * `secured`.
 */
export function responsesOf(operation: Operation, secured: Api['secured']): ZodOpenApiResponsesObject {
  const own = Object.entries(operation.responses).map(([status, response]) => [
    status,
    ownResponse(response, secured?.headers),
  ]);
  const problems = problemsOf(operation, secured).map((problem) => [
    problem.status,
    responseTo(problem, operation),
  ]);
  return Object.fromEntries([...problems, ...own]);
}

/** A file. Generators know the bytes by this format. */
export const fileContent = {
  'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) },
};

function ownResponse(
  { description, schema, eventStream, bytes, headers }: OperationResponse,
  further: Readonly<Record<string, z.ZodType>> = {},
): ZodOpenApiResponseObject {
  return {
    description,
    headers: z.object({ 'X-Request-Id': requestIdHeader, ...headers, ...further }),
    ...(schema === undefined ? {} : { content: { 'application/json': { schema } } }),
    // OpenAPI 3.1 describes no events of a stream; 3.2 has `itemSchema`.
    ...(eventStream === undefined ? {} : { content: { 'text/event-stream': { schema: z.string() } } }),
    ...(bytes === undefined ? {} : { content: fileContent }),
  };
}

// One object for each name: zod-openapi identifies components by object identity.
const sharedProblems = new Map<string, ZodOpenApiResponseObject>();

function responseTo(problem: OperationProblem, operation: Operation): ZodOpenApiResponseObject {
  const id = componentName(problem, operation);
  if (id === undefined) return describeProblem(problem, operation);
  const known = sharedProblems.get(id) ?? { id, ...describeProblem(problem, { oauth: operation.oauth }) };
  sharedProblems.set(id, known);
  return known;
}

// Responses with the common codes, or with one other code, are components: many operations have them.
function componentName(
  { status, codes, description, members }: OperationProblem,
  { oauth = false }: Operation,
): string | undefined {
  if (description !== undefined || members !== undefined) return undefined;
  const prefix = oauth ? 'OAuthProblem' : 'Problem';
  const common: Readonly<Record<number, readonly string[]>> = commonCodes;
  if (common[status]?.join() === codes.join()) return `${prefix}${status}`;
  return codes.length === 1 ? `${prefix}${status}_${codes[0]}` : undefined;
}

function describeProblem(
  { status, codes, description = descriptions[status], members = {} }: OperationProblem,
  { oauth = false, security }: { oauth?: boolean | undefined; security?: readonly string[] },
): ZodOpenApiResponseObject {
  if (description === undefined) throw new Error(`The status ${status} needs a description.`);
  const specific = z.object({ code: z.enum(codes), ...z.object(members).partial().shape });
  const schema = z.intersection(oauth ? oauthProblemSchema : problemSchema, specific);
  // The credential of a token endpoint is in the body, so its 401 has no challenge.
  const challenged = !oauth || security !== undefined || (status !== 400 && status !== 401);
  return {
    description,
    headers: z.object({
      'X-Request-Id': requestIdHeader,
      ...(challenged ? headersByStatus[status] : {}),
      ...(statusesAfterParsing.includes(status) && !oauth ? { 'X-Ignored-Fields': ignoredHeader } : {}),
    }),
    content: { 'application/json': { schema }, 'application/problem+json': { schema } },
  };
}
