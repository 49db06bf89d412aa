import fc from 'fast-check';
import { hostileBytes, hostileText } from './hostile.arbitrary.ts';
import type { Operation, Parameter } from './operation.ts';
import { type ValueSource, valuesOf } from './schema.arbitrary.ts';

const awkwardSegments = [
  '%',
  '%zz',
  '%00',
  '%C0%80',
  '%ED%A0%80',
  '%FF',
  '%2F',
  '%2e%2e',
  '..',
  '.',
  '~',
  ';a=b',
  'a b',
  '[::1]',
  '%25%32%46',
  '__proto__',
  'constructor',
  '%E2%80%AE',
];

const awkwardQueries = [
  '?',
  '&&&',
  '=',
  'a',
  'a=1&a=2',
  '%=%',
  '%FF=%FF',
  'a[b]=c&a[]=d',
  '__proto__=1',
  '__proto__[is_staff]=true',
  'constructor=1&toString=2',
  'limit=1&limit=2',
  'limit=%00',
  'access_token=x',
  `${'a=1&'.repeat(1_200)}`,
  '#',
  '+++',
];

const shapes: ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => path.replace(/\/$/, ''),
  (path) => `/${path}`,
  (path) => path.replaceAll('/', '//'),
  (path) => path.toUpperCase(),
  (path) => `${path};v=1`,
  (path) => `/.${path}`,
  (path) => `http://elsewhere.example${path}`,
  (path) => `${path}%00`,
];

/** Request targets for an operation and for unknown paths; one character for each byte. */
export function targetsOf(operation: Operation, source: ValueSource): fc.Arbitrary<string> {
  const path = operation.template.split('/').map((segment) => {
    const parameter = operation.parameters.find(({ name }) => segment === `{${name}}`);
    return parameter === undefined ? fc.constant(segment) : segmentsOf(parameter, source);
  });
  const shape = fc.oneof(
    { weight: 25, arbitrary: fc.constant((same: string) => same) },
    { weight: 1, arbitrary: fc.constantFrom(...shapes) },
  );
  const shaped = fc.tuple(fc.tuple(...path), shape).map(([segments, apply]) => apply(segments.join('/')));
  const query = queriesOf(
    operation.parameters.filter((parameter) => parameter.in === 'query'),
    source,
  );
  return fc.tuple(shaped, query).map(([start, rest]) => (rest === '' ? start : `${start}?${rest}`));
}

function segmentsOf(parameter: Parameter, source: ValueSource): fc.Arbitrary<string> {
  const valid = valuesOf(parameter.schema, source, parameter.name).map((value) => encoded(String(value)));
  return fc.oneof(
    { weight: 15, arbitrary: valid },
    { weight: 1, arbitrary: hostileText.map(encoded) },
    { weight: 1, arbitrary: fc.constantFrom(...awkwardSegments) },
    { weight: 1, arbitrary: hostileBytes.map((bytes) => bytes.replace(/[/?#]/g, '')) },
  );
}

function queriesOf(parameters: Parameter[], source: ValueSource): fc.Arbitrary<string> {
  const awkward = fc.oneof(fc.constantFrom(...awkwardQueries), hostileBytes);
  if (parameters.length === 0) {
    return fc.oneof({ weight: 15, arbitrary: fc.constant('') }, { weight: 1, arbitrary: awkward });
  }
  const pairs = parameters.map((parameter) => pairsOf(parameter, source));
  const some = fc.array(fc.oneof(...pairs), { maxLength: 4 });
  const required = parameters.flatMap((parameter, index) => {
    const pair = pairs[index];
    return parameter.required === true && pair !== undefined ? [pair] : [];
  });
  const described = fc
    .tuple(fc.tuple(...required), some)
    .map(([always, further]) => [...always, ...(always.length > 0 ? [] : further)].join('&'));
  return fc.oneof(
    { weight: 8, arbitrary: described },
    { weight: 1, arbitrary: fc.tuple(described, awkward).map(([good, bad]) => `${good}&${bad}`) },
    { weight: 1, arbitrary: fc.tuple(described, described).map(([one, other]) => `${one}&${other}`) },
  );
}

function pairsOf({ name, schema }: Parameter, source: ValueSource): fc.Arbitrary<string> {
  const values = fc.oneof(
    { weight: 3, arbitrary: valuesOf(schema, source, name).map(String) },
    { weight: 1, arbitrary: hostileText },
  );
  return values.map((value) => `${name}=${encoded(value)}`);
}

// Placeholders of known values are not percent-encoded.
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replace(/%7B%7B(\w+)%7D%7D/g, '{{$1}}');
}
