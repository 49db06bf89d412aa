import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { hostileBytes, hostileJson, hostileText, prototypeNames } from './hostile.arbitrary.ts';
import type { Operation, Schema } from './operation.ts';
import { type ValueSource, valuesOf } from './schema.arbitrary.ts';

/** A body with its header fields. */
export interface FuzzBody {
  bytes: Buffer | undefined;
  headers: [string, string][];
}

const form = 'application/x-www-form-urlencoded';
const mediaTypes = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
  'application/json; charset=utf-16le',
  'application/json; charset=latin1',
  'application/json; charset=\xff',
  'application/json;;;',
  'application/problem+json',
  'application/merge-patch+json',
  'APPLICATION/JSON',
  form,
  'multipart/form-data; boundary=x',
  'text/plain',
  'json',
  '*/*',
  '',
  ';',
];

/** Bodies for an operation: valid, almost valid, and unrelated. */
export function bodiesOf(operation: Operation, source: ValueSource): fc.Arbitrary<FuzzBody> {
  const none = fc.constant<FuzzBody>({ bytes: undefined, headers: [] });
  const noise = withHeaders(fc.oneof(hostileJson.map(utf8), rawBytes), 'application/json');
  const described = [...operation.bodies].map(([type, schema]) =>
    withHeaders(bytesOf(type, schema, source), type),
  );
  if (described.length === 0)
    return fc.oneof({ weight: 8, arbitrary: none }, { weight: 1, arbitrary: noise });
  return fc.oneof(
    { weight: 12, arbitrary: fc.oneof(...described) },
    { weight: 2, arbitrary: noise },
    { weight: 1, arbitrary: none },
  );
}

function bytesOf(type: string, schema: Schema, source: ValueSource): fc.Arbitrary<Buffer> {
  const values = valuesOf(schema, source);
  if (type === form) return formBytes(values);
  const names = Object.keys(source.surface.resolve(schema).properties ?? {});
  const valid = values.map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 5, arbitrary: valid.map(utf8) },
    { weight: 6, arbitrary: mutated(values, names).map(utf8) },
    {
      weight: 2,
      arbitrary: fc.tuple(valid, fc.constantFrom(...breakages)).map(([text, broken]) => broken(text)),
    },
  );
}

type Change = (entries: [string, string][]) => [string, string][];

/** A valid object with one to three wrong members. Its JSON is assembled as text, so that a name can occur twice. */
function mutated(values: fc.Arbitrary<unknown>, names: string[]): fc.Arbitrary<string> {
  const name = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...(names.length > 0 ? names : ['a'])) },
    { weight: 1, arbitrary: fc.constantFrom(...prototypeNames) },
    { weight: 1, arbitrary: hostileText },
  );
  const change = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(name, hostileJson).map(([key, json]) => replace(key, json)) },
    { weight: 1, arbitrary: fc.tuple(name, hostileJson).map(([key, json]) => append(key, json)) },
    { weight: 1, arbitrary: name.map(remove) },
  );
  return fc.tuple(values, fc.array(change, { minLength: 1, maxLength: 3 })).map(([value, changes]) => {
    const entries = Object.entries(Object(value)).map(([key, item]): [string, string] => [
      key,
      JSON.stringify(item),
    ]);
    const changed = changes.reduce((rest, apply) => apply(rest), entries);
    return `{${changed.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`;
  });
}

function replace(key: string, json: string): Change {
  return (entries) => [...entries.filter(([name]) => name !== key), [key, json]];
}

function append(key: string, json: string): Change {
  return (entries) => [...entries, [key, json]];
}

function remove(key: string): Change {
  return (entries) => entries.filter(([name]) => name !== key);
}

const breakages: ((text: string) => Buffer)[] = [
  (text) => utf8(text.slice(0, -1)),
  (text) => utf8(`${text}${text}`),
  (text) => utf8(`\ufeff${text}`),
  (text) => utf8(`/* a comment */ ${text}`),
  (text) => utf8(text.replaceAll('"', "'")),
  (text) => utf8(`[${text}]`),
  (text) => utf8(JSON.stringify(text)),
  (text) => Buffer.from(text, 'utf16le'),
  (text) => Buffer.from(text.replace(/:"/, ':"\xff\xfe'), 'latin1'),
  (text) => utf8(text.replace(/:"/, ':"\\ud800')),
  (text) => utf8(text.replace(/:"/, ':"\\u0000')),
  (text) => utf8(text.replace(/[0-9]/, '$&e999')),
];

function formBytes(values: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> {
  const extra = fc.oneof(
    fc.constantFrom(
      '&&',
      '&=',
      '&a',
      '&%=%',
      '&password=%FF',
      '&grant_type=password',
      '&__proto__=1',
      '&a[b]=c',
    ),
    fc.constant(`${'&a=1'.repeat(1_100)}`),
    hostileText.map((text) => `&email=${encodeURIComponent(text.toWellFormed())}`),
    hostileBytes.map((bytes) => `&${bytes}`),
  );
  const more = fc.oneof({ weight: 2, arbitrary: fc.constant('') }, { weight: 1, arbitrary: extra });
  return fc.tuple(values, more).map(([value, further]) => {
    const pairs = Object.entries(Object(value)).map(([key, item]): [string, string] => [
      key,
      String(item).toWellFormed(),
    ]);
    // Placeholders of known values are not percent-encoded.
    const text = new URLSearchParams(pairs).toString().replace(/%7B%7B(\w+)%7D%7D/g, '{{$1}}');
    return Buffer.from(text + further, 'latin1');
  });
}

const rawBytes = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));

function withHeaders(bodies: fc.Arbitrary<Buffer>, type: string): fc.Arbitrary<FuzzBody> {
  const types = fc.oneof(
    { weight: 20, arbitrary: fc.constant([type]) },
    { weight: 1, arbitrary: fc.constantFrom(...mediaTypes).map((odd) => [odd]) },
    { weight: 1, arbitrary: fc.constantFrom([], [type, 'text/plain'], ['text/plain', type]) },
  );
  const encoding = fc.oneof(
    { weight: 25, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom('gzip', 'deflate', 'br', 'identity', 'gzip, gzip', 'x', '') },
  );
  return fc.tuple(bodies, types, encoding, fc.boolean()).map(([bytes, names, coding, honest]) => ({
    bytes: coding !== undefined && honest ? compress(bytes, coding) : bytes,
    headers: [
      ...names.map((name): [string, string] => ['Content-Type', name]),
      ...(coding === undefined ? [] : [['Content-Encoding', coding] as [string, string]]),
    ],
  }));
}

function compress(bytes: Buffer, coding: string): Buffer {
  if (coding === 'gzip') return gzipSync(bytes);
  return coding === 'deflate' ? deflateSync(bytes) : bytes;
}

function utf8(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}
