import { z } from 'zod';

const parameterSchema = z.object({
  in: z.enum(['path', 'query', 'header']),
  name: z.string(),
  required: z.boolean().default(false),
  example: z.string().optional(),
});
const operationSchema = z.object({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(parameterSchema).default([]),
  requestBody: z
    .object({ content: z.object({ 'application/json': z.object({ example: z.unknown() }).optional() }) })
    .optional(),
});
const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
});

type Parameter = z.infer<typeof parameterSchema>;

interface DescribedOperation extends z.infer<typeof operationSchema> {
  method: string;
  path: string;
}

/** Values of objects that exist only after earlier requests, such as ids and tokens. */
interface Given {
  /** By name. The document must have no example for them. */
  parameters?: Record<string, string>;
  /** Members of the body that replace those of the example. */
  body?: Record<string, unknown>;
}

/** Sends the examples of an OpenAPI document, as "Try it out" on the documentation page does. */
export class ExampleCaller {
  readonly #url: string;
  readonly #operations: DescribedOperation[];
  /** Headers with credentials, by security scheme. */
  readonly credentials: Record<string, Record<string, string>> = {};
  /** The ids of the operations that were answered with 2xx. */
  readonly answered = new Set<string>();

  private constructor(url: string, operations: DescribedOperation[]) {
    this.#url = url;
    this.#operations = operations;
  }

  /** Reads the document that the service serves. */
  static async read(url: string, documentPath: string): Promise<ExampleCaller> {
    const { paths } = documentSchema.parse(await (await fetch(url + documentPath)).json());
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
      })),
    );
    return new ExampleCaller(url, operations);
  }

  /** The ids of all operations. */
  get operationIds(): string[] {
    return this.#operations.map(({ operationId }) => operationId);
  }

  /** The example of a body. */
  bodyOf(operationId: string): Record<string, unknown> {
    const { requestBody } = this.#find(operationId);
    return z.record(z.string(), z.unknown()).parse(requestBody?.content['application/json']?.example);
  }

  /** Sends the example of an operation. @returns the JSON body of the response */
  async send(operationId: string, { parameters = {}, body = {} }: Given = {}): Promise<unknown> {
    const operation = this.#find(operationId);
    const headers = new Headers();
    for (const scheme of operation.security.flatMap((choice) => Object.keys(choice)))
      for (const [name, value] of Object.entries(this.credentials[scheme] ?? {})) headers.set(name, value);
    const query = new URLSearchParams();
    let { path } = operation;
    for (const parameter of operation.parameters) {
      const value = parameterValue(operationId, parameter, parameters);
      if (value === undefined) continue;
      if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
      else if (parameter.in === 'query') query.set(parameter.name, value);
      else headers.set(parameter.name, value);
    }
    const isFile = operation.requestBody?.content['application/json'] === undefined;
    if (operation.requestBody !== undefined)
      headers.set('Content-Type', isFile ? 'application/octet-stream' : 'application/json');
    const response = await fetch(`${this.#url}${path}${query.size === 0 ? '' : `?${query}`}`, {
      method: operation.method,
      headers,
      ...(operation.requestBody === undefined
        ? {}
        : { body: isFile ? 'A file.' : JSON.stringify({ ...this.bodyOf(operationId), ...body }) }),
    });
    // A stream of events does not end.
    const isStream = response.headers.get('content-type') === 'text/event-stream';
    const text = isStream ? '' : await response.text();
    if (isStream) await response.body?.cancel();
    if (!response.ok) throw new Error(`${operationId} was answered with ${response.status}: ${text}`);
    this.answered.add(operationId);
    const isJson = response.headers.get('content-type')?.includes('json');
    return isJson === true ? JSON.parse(text) : undefined;
  }

  #find(operationId: string): DescribedOperation {
    const found = this.#operations.find((operation) => operation.operationId === operationId);
    if (found === undefined) throw new Error(`The document has no operation ${operationId}.`);
    return found;
  }
}

// The page sends parameters with an example, and requires a value for the others that are required.
function parameterValue(
  operationId: string,
  { name, required: isRequired, example }: Parameter,
  given: Record<string, string>,
): string | undefined {
  if (example !== undefined && given[name] !== undefined)
    throw new Error(`${operationId} has an example of ${name}: a given value would hide a wrong one.`);
  const value = example ?? given[name];
  if (value === undefined && isRequired) throw new Error(`${operationId} needs a value for ${name}.`);
  return value;
}
