/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The id of the description's schemas in ajv. */
export const DESCRIPTION_ID = 'github-issues';

// OpenAPI 3.0 keywords that JSON Schema lacks and that constrain nothing.
const ANNOTATIONS = new Set(['example', 'externalDocs', 'xml', 'discriminator', 'nullable']);

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Converts an OpenAPI 3.0 schema to JSON Schema draft 7: `nullable` (OAS 3.0.3 4.7.24) becomes the type null. */
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
