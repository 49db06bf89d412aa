import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { DESCRIPTION_ID, isObject, type JsonObject, toJsonSchema } from './openapi-schema.ts';

/** Validates a value. @returns the errors, one line each */
export type Check = (value: unknown) => string[];

/** The validators of one operation. */
export interface OperationChecks {
  /** Validates `{ path: {…}, query: {…} }` with string values. */
  readonly parameters: Check;
  /** Undefined when the operation takes no body. */
  readonly body: { readonly required: boolean; readonly check: Check } | undefined;
  /** The checks of responses by status; undefined for a response without content. */
  readonly answers: ReadonlyMap<number, Check | undefined>;
}

/** GitHub's published API description, limited to the issue operations. */
export class GitHubDescription {
  static #shared: GitHubDescription | undefined;

  /** The schema of errors that the operation itself does not describe. */
  readonly basicError: Check;
  readonly #document: JsonObject;
  readonly #values = new Ajv({ allErrors: true, strictTypes: false, allowUnionTypes: true });
  readonly #compiled = new Map<string, OperationChecks>();
  // Parameters arrive as text.
  readonly #texts = new Ajv({ allErrors: true, strictTypes: false, coerceTypes: true });

  private constructor() {
    const file = new URL('../../openapi/github-issues.openapi.json', import.meta.url);
    this.#document = JSON.parse(readFileSync(file, 'utf8'));
    for (const ajv of [this.#values, this.#texts]) formats.default(ajv);
    const schemas = Object.entries(at(this.#document, 'components', 'schemas'));
    this.#values.addKeyword('components');
    this.#values.addSchema({
      $id: DESCRIPTION_ID,
      components: {
        schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, toJsonSchema(schema)])),
      },
    });
    this.basicError = this.#check({ $ref: '#/components/schemas/basic-error' });
  }

  /** Read and compiled once; a compilation takes a tenth of a second. */
  static shared(): GitHubDescription {
    GitHubDescription.#shared ??= new GitHubDescription();
    return GitHubDescription.#shared;
  }

  /** @throws TypeError when the description has no such operation */
  checksOf(method: string, path: string): OperationChecks {
    const name = `${method} ${path}`;
    const checks = this.#compiled.get(name) ?? this.#compile(at(this.#document, 'paths', path, method));
    this.#compiled.set(name, checks);
    return checks;
  }

  #compile(operation: JsonObject): OperationChecks {
    return {
      parameters: this.#parameters(Array.isArray(operation.parameters) ? operation.parameters : []),
      body: this.#body(operation.requestBody),
      answers: this.#answers(at(operation, 'responses')),
    };
  }

  #parameters(parameters: readonly unknown[]): Check {
    const places: Record<string, { properties: Record<string, unknown>; required: string[] }> = {
      path: { properties: {}, required: [] },
      query: { properties: {}, required: [] },
    };
    for (const parameter of parameters.map((given) => this.#resolved(given))) {
      const place = places[String(parameter.in)];
      const name = String(parameter.name);
      if (place === undefined) continue;
      place.properties[name] = toJsonSchema(parameter.schema);
      if (parameter.required === true) place.required.push(name);
    }
    const properties = Object.entries(places).map(([name, place]) => [
      name,
      { type: 'object', additionalProperties: false, ...place },
    ]);
    return toCheck(this.#texts.compile({ type: 'object', properties: Object.fromEntries(properties) }));
  }

  #body(requestBody: unknown): OperationChecks['body'] {
    if (!isObject(requestBody)) return undefined;
    const schema = at(requestBody, 'content', 'application/json', 'schema');
    return { required: requestBody.required === true, check: this.#check(schema) };
  }

  #answers(responses: JsonObject): OperationChecks['answers'] {
    return new Map(
      Object.entries(responses).map(([status, given]) => {
        const response = this.#resolved(given);
        if (response.content === undefined) return [Number(status), undefined];
        return [Number(status), this.#check(at(response, 'content', 'application/json', 'schema'))];
      }),
    );
  }

  #check(schema: JsonObject): Check {
    const translated = toJsonSchema(schema);
    return toCheck(this.#values.compile(isObject(translated) ? translated : {}));
  }

  #resolved(given: unknown): JsonObject {
    if (!isObject(given)) return {};
    if (typeof given.$ref !== 'string') return given;
    return at(this.#document, ...given.$ref.replace(/^#\//, '').split('/'));
  }
}

function toCheck(validate: ValidateFunction): Check {
  return (value) => {
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
    );
  };
}

function at(value: JsonObject, ...steps: string[]): JsonObject {
  let found: unknown = value;
  for (const step of steps) found = isObject(found) ? found[step] : undefined;
  if (!isObject(found)) throw new TypeError(`the description has no ${steps.join(' ')}`);
  return found;
}
