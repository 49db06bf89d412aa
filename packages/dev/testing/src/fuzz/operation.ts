/** The part of JSON Schema that the services' documents use. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

export interface Parameter {
  $ref?: string;
  in: 'path' | 'query' | 'header';
  name: string;
  required?: boolean;
  schema: Schema;
}

/** A described response: the pointer to its body's schema, and its required headers. */
interface DescribedAnswer {
  bodyPointer: string | undefined;
  /** Whether the body is the bytes of a file. */
  isFile: boolean;
  requiredHeaders: string[];
}

/** One operation of a document, with its references resolved. */
export interface Operation {
  operationId: string;
  method: string;
  template: string;
  parameters: Parameter[];
  /** Schemas of the request body by media type. */
  bodies: Map<string, Schema>;
  /** Names of its security schemes. */
  security: string[];
  answers: Map<number, DescribedAnswer>;
}

interface Response {
  $ref?: string;
  headers?: Record<string, { $ref?: string; required?: boolean }>;
  content?: Record<string, unknown>;
}

interface PathItemOperation {
  operationId: string;
  parameters?: Parameter[];
  security?: Record<string, string[]>[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Response>;
}

interface PlainDocument {
  paths: Record<string, Record<string, PathItemOperation>>;
}

const methods = ['get', 'post', 'put', 'patch', 'delete', 'options'];

/** The operations and responses of an OpenAPI document. */
export class ApiSurface {
  readonly operations: Operation[];
  readonly document: object;

  constructor(document: object) {
    this.document = document;
    const { paths }: PlainDocument = JSON.parse(JSON.stringify(document));
    this.operations = Object.entries(paths).flatMap(([template, item]) =>
      methods.flatMap((method) => {
        const operation = item[method];
        return operation === undefined ? [] : [this.#read(template, method, operation)];
      }),
    );
  }

  /** Resolves a reference within the document. */
  resolve<Target extends { $ref?: string }>(target: Target): Target {
    if (target.$ref === undefined) return target;
    let value: unknown = this.document;
    for (const token of target.$ref.slice('#/'.length).split('/')) value = Reflect.get(Object(value), token);
    return value as Target;
  }

  /** The operation of a request; undefined if the document describes none. */
  find(method: string, target: string): Operation | undefined {
    const path = target.replace(/^https?:\/\/[^/?]*/i, '').replace(/\?.*$/s, '');
    return this.operations
      .filter((operation) => operation.method === method && patternOf(operation.template).test(path))
      .sort((one, other) => countOf(one.template) - countOf(other.template))[0];
  }

  #read(template: string, method: string, operation: PathItemOperation): Operation {
    const answers = Object.entries(operation.responses).map(
      ([status, response]): [number, DescribedAnswer] => [
        Number(status),
        this.#readAnswer(response, `#/paths/${tokenOf(template)}/${method}/responses/${status}`),
      ],
    );
    return {
      operationId: operation.operationId,
      method: method.toUpperCase(),
      template,
      parameters: (operation.parameters ?? []).map((parameter) => this.resolve(parameter)),
      bodies: new Map(
        Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema]),
      ),
      security: (operation.security ?? []).flatMap((scheme) => Object.keys(scheme)),
      answers: new Map(answers),
    };
  }

  #readAnswer(response: Response, place: string): DescribedAnswer {
    const { headers = {}, content } = this.resolve(response);
    const pointer = `${response.$ref ?? place}/content/application~1json/schema`;
    return {
      bodyPointer: content?.['application/json'] === undefined ? undefined : pointer,
      isFile: content?.['application/octet-stream'] !== undefined,
      requiredHeaders: Object.keys(headers).filter(
        (name) => this.resolve(headers[name] ?? {}).required === true,
      ),
    };
  }
}

// Decodes a token of a JSON pointer in a URI fragment.
function tokenOf(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}

// Express routes case-insensitively and ignores a trailing slash.
function patternOf(template: string): RegExp {
  const path = template.replace(/\/$/, '').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${path.replaceAll('.', '\\.')}/?$`, 'i');
}

function countOf(template: string): number {
  return template.split('{').length;
}
