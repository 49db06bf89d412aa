// Users add members of their own: variables of the environment, annotations, limits.
const open = new Set(['resources']);

/** The JSON schema by which Helm checks values: unknown names, other types, empty texts and negative numbers are errors. */
export function valuesSchema(value: unknown, key = ''): object {
  if (Array.isArray(value)) return { type: 'array' };
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'string') return { type: 'string', minLength: 1 };
    // A deployment may have no replica; an autoscaler keeps at least one.
    if (Number.isInteger(value)) return { type: 'integer', minimum: key === 'replicas' ? 0 : 1 };
    return { type: typeof value };
  }
  if (key === 'config' || key === 'annotations' || key === 'nodeSelector')
    return { type: 'object', additionalProperties: { type: 'string' } };
  if (open.has(key)) return { type: 'object' };
  const properties = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, valuesSchema(member, name)]),
  );
  // Helm adds `global` to the values of every chart.
  if (key === '') Object.assign(properties, { global: { type: 'object' } });
  return { type: 'object', properties, additionalProperties: false };
}
