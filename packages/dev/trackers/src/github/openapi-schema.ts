/** A JSON value that is an object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The id under which the description's own schemas are known to ajv. */
export const DESCRIPTION_ID = 'github-issues';

// OpenAPI 3.0 members that JSON Schema does not know and that constrain nothing.
const ANNOTATIONS = new Set(['example', 'externalDocs', 'xml', 'discriminator', 'nullable']);

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A Schema Object of OpenAPI 3.0 as JSON Schema draft 7: OAS 3.0.3 4.7.24 has `nullable`, JSON Schema the type null. */
export function toJsonSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  if (typeof schema.$ref === 'string') return { $ref: DESCRIPTION_ID + schema.$ref };
  const translated: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema))
    if (!ANNOTATIONS.has(keyword) && !keyword.startsWith('x-'))
      translated[keyword] = translate(keyword, value);
  return schema.nullable === true ? orNull(translated) : translated;
}

function translate(keyword: string, value: unknown): unknown {
  if (keyword === 'properties' && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, toJsonSchema(schema)]));
  if (['allOf', 'anyOf', 'oneOf'].includes(keyword) && Array.isArray(value)) return value.map(toJsonSchema);
  if (['items', 'not', 'additionalProperties'].includes(keyword)) return toJsonSchema(value);
  return value;
}

function orNull(schema: Record<string, unknown>): unknown {
  if (typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const { enum: values, ...rest } = schema;
  return {
    ...rest,
    type: [schema.type, 'null'],
    ...(Array.isArray(values) ? { enum: [...values.filter((value) => value !== null), null] } : {}),
  };
}
