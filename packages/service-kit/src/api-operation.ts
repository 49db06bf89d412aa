import type { z } from 'zod';

/** A schema of an object: its members become parameters. */
type ObjectSchema = z.ZodType<unknown, Record<string, unknown>>;

/** One answer of its own: a success, or a status whose body is not the one error shape. */
export interface ApiResponse {
  description: string;
  /** The JSON body; absent for an answer without one. */
  schema?: z.ZodType;
  /** Headers beside `X-Request-Id`, by name; what each says stands in its schema's description. */
  headers?: Record<string, z.ZodType>;
}

/** A refusal that needs more words than its status, such as the `code`s that it may carry. */
export interface ApiProblem {
  status: number;
  description: string;
}

/** One operation of the HTTP surface, written beside the router that answers it. */
export interface ApiOperation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** As the router writes it: `/issues/:id`. */
  path: string;
  /** Unique in the document; generated clients name their functions by it. */
  operationId: string;
  summary: string;
  /** Markdown. */
  description?: string;
  tags: string[];
  /** Names of security schemes, any one of which suffices; none means public. */
  security?: string[];
  params?: ObjectSchema;
  query?: ObjectSchema;
  headers?: ObjectSchema;
  /** The JSON body, and the same as a form where the route takes forms too. */
  body?: { schema: z.ZodType; form?: z.ZodType; optional?: boolean };
  responses: Record<number, ApiResponse>;
  /** The refusals that are its own; those that can always happen are added (`describeApi`). */
  problems?: (number | ApiProblem)[];
  /** Refuses with OAuth's `error` and `error_description` beside the members of every error body. */
  oauth?: boolean;
}
