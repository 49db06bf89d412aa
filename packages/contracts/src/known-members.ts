import { z } from 'zod';
import type { Operation } from './operation.ts';

/** What is known of a JSON value: the members of an object and the items of a list; nothing of any other value. */
interface Known {
  readonly members?: ReadonlyMap<string, Known>;
  readonly items?: Known;
}

const nothing: Known = {};
const reportedMax = 20;
/** No list of objects in a request is longer. */
const itemsMax = 100;

/** Whether an operation lists the members of its body that it ignores. Otherwise its schema refuses them, or takes any. */
export function listsIgnoredMembers({ responses }: Operation): boolean {
  return Object.values(responses).some(({ headers }) => 'X-Ignored-Fields' in { ...headers });
}

/**
 * Returns a function that finds the members of a body, at any depth, that the operation does not know: at most 20, with
 * nested names joined with dots. Known are those of the request and of the responses, because clients send back a received
 * representation. Undefined if the operation lists none.
 */
export function ignoredMemberFinder(operation: Operation): ((body: unknown) => string[]) | undefined {
  const { body, responses } = operation;
  if (body === undefined || !listsIgnoredMembers(operation)) return undefined;
  const known = knownOf([body.schema, ...Object.values(responses).flatMap(({ schema }) => schema ?? [])]);
  return (given) => {
    const found: string[] = [];
    collect(given, known, '', found);
    return found;
  };
}

function collect(value: unknown, { members, items }: Known, prefix: string, found: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (items === undefined) return;
    for (const [index, item] of value.slice(0, itemsMax).entries())
      collect(item, items, `${prefix}${index}.`, found);
    return;
  }
  if (members === undefined) return;
  for (const name of Object.keys(value)) {
    if (found.length >= reportedMax) return;
    const member = members.get(name);
    if (member === undefined) found.push(`${prefix}${name}`);
    else collect(Reflect.get(value, name), member, `${prefix}${name}.`, found);
  }
}

function knownOf(schemas: readonly z.core.$ZodType[]): Known {
  const parts = schemas.flatMap(partsOf);
  const objects = parts.filter((part) => part instanceof z.ZodObject);
  const lists = parts.filter((part) => part instanceof z.ZodArray);
  const items = lists.length === 0 ? nothing : knownOf(lists.map(({ element }) => element));
  const ofItems = items === nothing ? {} : { items };
  if (objects.length === 0 || parts.some(takesAnyMember)) return items === nothing ? nothing : ofItems;
  const names = new Set(objects.flatMap(({ shape }) => Object.keys(shape)));
  const members = [...names].map((name) => {
    const known = knownOf(objects.flatMap(({ shape }) => shape[name] ?? []));
    return [name, known] as const;
  });
  return { ...ofItems, members: new Map(members) };
}

function takesAnyMember(schema: z.core.$ZodType): boolean {
  return (
    schema instanceof z.ZodRecord ||
    schema instanceof z.ZodUnknown ||
    (schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodUnknown)
  );
}

/** The schemas of the JSON value itself, without what is optional, a default, an alternative or a conversion. */
function partsOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return partsOf(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(partsOf);
  if (schema instanceof z.ZodPipe)
    return partsOf(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  return [schema];
}
