import fc from 'fast-check';
import type { ApiSurface, Schema } from './operation.ts';

/** The document, and the names of known values. */
export interface ValueSource {
  surface: ApiSurface;
  /** A placeholder for the known value of that name; undefined if there is none. */
  known: (name: string) => string | undefined;
}

// Limits for unbounded strings and lists; the mutations generate values that are too long.
const textMax = 40;
const itemsMax = 3;

/** Values that match a schema. The operation may still reject them by rules that the schema cannot express. */
export function valuesOf(given: Schema, source: ValueSource, name = ''): fc.Arbitrary<unknown> {
  const schema = source.surface.resolve(given);
  const known = source.known(name);
  const drawn = drawnFrom(schema, source, name);
  // The known value of a list is that of its items.
  if (known === undefined || schema.type === 'array') return drawn;
  return fc.oneof({ weight: 3, arbitrary: fc.constant(known) }, { weight: 1, arbitrary: drawn });
}

function drawnFrom(schema: Schema, source: ValueSource, name: string): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valuesOf(choice, source, name)));
  if (schema.allOf !== undefined) return mergedValues(schema.allOf, source, name);
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...types.map((type) => ofType(type, schema, source, name)));
}

function mergedValues(parts: Schema[], source: ValueSource, name: string): fc.Arbitrary<unknown> {
  return fc
    .tuple(...parts.map((part) => valuesOf(part, source, name)))
    .map((values) => (values.length === 1 ? values[0] : Object.assign({}, ...values)));
}

function ofType(type: string, schema: Schema, source: ValueSource, name: string): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return objectValues(schema, source);
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, source, name), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? itemsMax, itemsMax),
      });
    case 'string':
      return textValues(schema);
    case 'integer':
    case 'number':
      return fc.integer({
        min: schema.minimum ?? schema.exclusiveMinimum ?? 0,
        max: Math.min(schema.maximum ?? 1000, 2_000_000_000),
      });
    case 'boolean':
      return fc.boolean();
    default:
      return fc.constant(null);
  }
}

// Few optional members, because many of them are likely to contradict each other.
function objectValues(schema: Schema, source: ValueSource): fc.Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema;
  const members = new Map(
    Object.entries(properties).map(([name, member]) => [name, valuesOf(member, source, name)]),
  );
  const optional = [...members.keys()].filter((name) => !required.includes(name));
  const whole = (names: string[]) => {
    const model = names.flatMap((name) => {
      const values = members.get(name);
      return values === undefined ? [] : [[name, values] as const];
    });
    return fc.record(Object.fromEntries(model), { noNullPrototype: true });
  };
  const known = optional.filter((name) => source.known(name) !== undefined);
  const chosen = fc.oneof(
    fc.constant(known),
    fc.subarray(optional, { maxLength: Math.min(2, optional.length) }),
    fc.subarray(optional),
  );
  return chosen.chain((names) => whole([...required, ...names]));
}

function textValues({ format, pattern, minLength = 0, maxLength = textMax }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') {
    return fc
      .date({ min: new Date(0), max: new Date('2100'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  if (format === 'uri') return fc.webUrl();
  if (format === 'idn-email') return fc.emailAddress();
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'), { maxLength: textMax });
  return fc.string({
    unit: 'grapheme',
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, textMax)),
  });
}
