import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { code, table } from './table.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema: Schema;
}

interface OpenApi {
  readonly paths: Readonly<
    Record<
      string,
      Record<
        string,
        {
          readonly parameters?: readonly Parameter[];
          readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
        }
      >
    >
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const readApi = (name: string): OpenApi => {
  const file = fileURLToPath(new URL(`../../../../contracts/openapi/${name}.json`, import.meta.url));
  return z.custom<OpenApi>().parse(JSON.parse(readFileSync(file, 'utf8')));
};

/** docs/reference/limits.md: what the schemas of the OpenAPI documents accept. */
export function limitsPage(): string {
  return [
    '# Limits',
    `What the fields of requests accept, from the schemas that parse them. A value beyond a limit is 422 \`validation_failed\`, and \`errors\`
names the field. A member of an array or object is written as \`links[].url\`.`,
    `The numbers of requests are settings ([environment](environment.md)). What one request may cost at most is in the costs of
[identity](../security/costs-identity.md) and [issues](../security/costs-issues.md), and the sizes of bodies in [errors](../errors.md#sizes).`,
    ...['identity', 'issues'].flatMap((name) => {
      const api = readApi(name);
      return [
        `## ${name}`,
        table(['body', 'member', 'accepts'], bodiesOf(api)),
        `### Parameters of ${name}`,
        table(['parameter', 'accepts'], parametersOf(api)),
      ];
    }),
  ].join('\n\n');
}

const operationsOf = ({ paths }: OpenApi) => Object.values(paths).flatMap((item) => Object.values(item));
const nameOf = (reference: string) => reference.split('/').at(-1) ?? '';

function bodiesOf(api: OpenApi): string[][] {
  const schemas = operationsOf(api).flatMap(({ requestBody }) =>
    Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => schema.anyOf ?? [schema]),
  );
  const names = [...new Set(schemas.flatMap(({ $ref }) => ($ref === undefined ? [] : [nameOf($ref)])))];
  return names
    .sort()
    .flatMap((name) =>
      membersOf(api, '', api.components.schemas[name] ?? {}, new Set()).map(
        ([member = '', limit = ''], index) => [index === 0 ? code(name) : '', code(member), limit],
      ),
    );
}

/** The members of a schema that have a limit, with those of their arrays and objects. */
function membersOf(api: OpenApi, path: string, schema: Schema, within: ReadonlySet<Schema>): string[][] {
  const target = schema.$ref === undefined ? schema : (api.components.schemas[nameOf(schema.$ref)] ?? {});
  if (within.has(target)) return [];
  const seen = new Set([...within, target]);
  const limit = limitOf(target);
  const choices = [...(target.anyOf ?? []), ...(target.allOf ?? [])];
  return [
    ...(path === '' || limit === '' ? [] : [[path, limit]]),
    ...Object.entries(target.properties ?? {}).flatMap(([name, member]) =>
      membersOf(api, path === '' ? name : `${path}.${name}`, member, seen),
    ),
    ...(target.items === undefined ? [] : membersOf(api, `${path}[]`, target.items, seen)),
    ...choices.flatMap((choice) => membersOf(api, path, choice, seen)),
  ].filter(
    ([name, text], index, all) => all.findIndex(([one, other]) => one === name && other === text) === index,
  );
}

function parametersOf(api: OpenApi): string[][] {
  const rows = operationsOf(api)
    .flatMap(({ parameters = [] }) => parameters)
    .flatMap(({ name, schema }) => membersOf(api, name, schema, new Set()))
    .map(([name = '', limit = '']) => [code(name), limit]);
  const texts = new Map(rows.map((row) => [row.join(' '), row]));
  return [...texts.values()].sort(([first = ''], [second = '']) => (first < second ? -1 : 1));
}

function limitOf({ enum: values, ...schema }: Schema): string {
  const parts = [
    (values ?? []).map((value) => code(String(value))).join(', '),
    between(schema.minLength, schema.maxLength, ' characters'),
    between(schema.minItems, schema.maxItems, ' items'),
    between(schema.minimum, schema.maximum, ''),
  ];
  return parts.filter((part) => part !== '').join('; ');
}

function between(from = 0, to = Number.MAX_SAFE_INTEGER, unit: string): string {
  if (to < Number.MAX_SAFE_INTEGER)
    return `${from === 0 ? 'at most' : `${from} to`} ${to.toLocaleString('en')}${unit}`;
  if (from === 0) return '';
  return from === 1 && unit !== '' ? 'not empty' : `at least ${from}${unit}`;
}
