import fc from 'fast-check';

/** Names with a meaning in JavaScript, which must have none in a request. */
export const prototypeNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'toJSON',
];

const awkwardTexts = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udfff',
  '\u202egnp.exe',
  '\ufeff',
  '\r\nX-Injected: 1',
  "' OR 1=1; --",
  '%00',
  '%',
  '\\',
  '../../etc/passwd',
  '{{7*7}}',
  'null',
  'NaN',
  '-1',
  '1e400',
  '0x10',
  '9'.repeat(400),
  '+275760-09-13T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999+23:59',
  '{00000000-0000-4000-8000-000000000000}',
  'urn:uuid:00000000-0000-4000-8000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  'javascript:alert(1)',
  'http://[::1',
  'İıßΣς',
  'e\u0301'.repeat(64),
  ...prototypeNames,
];

const longTexts = fc
  .tuple(
    fc.constantFrom('a', '🙂', '\u0000', ' ', '\ud83d', '%'),
    fc.constantFrom(256, 5_000, 70_000, 300_000),
  )
  .map(([unit, length]) => unit.repeat(length / unit.length));

/** Unusual text: NULs, lone surrogates, very long numbers, 300,000 characters. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...awkwardTexts) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
      .map((units) => String.fromCharCode(...units)),
  },
  { weight: 1, arbitrary: longTexts },
);

const awkwardNumbers = [
  '0',
  '-0',
  '-1',
  '0.1',
  '1E5',
  '1e400',
  '-1e400',
  '1e-400',
  '2147483648',
  '-9223372036854775809',
  '9007199254740993',
  '123456789'.repeat(60),
];

const nests: Record<string, [string, string]> = {
  arrays: ['[', ']'],
  objects: ['{"a":', '}'],
  both: ['[{"a":', '}]'],
};

const nested = fc
  .tuple(fc.constantFrom(...Object.values(nests)), fc.constantFrom(9, 100, 2_000, 10_000))
  .map(([[open, close], levels]) => `${open.repeat(levels)}1${close.repeat(levels)}`);

const awkwardJson = [
  'null',
  'true',
  '[]',
  '{}',
  '[[]]',
  '{"":""}',
  '{"__proto__":{"is_staff":true,"isStaff":true}}',
  '{"constructor":{"prototype":{"is_staff":true}}}',
  '{"toString":1,"valueOf":1,"toJSON":1,"length":-1,"then":1}',
  '{"$ne":null}',
  '{"a":1,"a":2}',
];

/** The text of one JSON value: of a wrong type, very large, or nested 10,000 levels deep. */
export const hostileJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: hostileText.map((text) => JSON.stringify(text)) },
  { weight: 3, arbitrary: fc.constantFrom(...awkwardJson) },
  { weight: 3, arbitrary: fc.constantFrom(...awkwardNumbers) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 4 }) },
  { weight: 1, arbitrary: nested },
);

/** Bytes as a string with one character for each byte, for targets and headers. */
export const hostileBytes: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('\xff\xfe', '\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\x80', '\xe9', '\t', '\x7f'),
  fc
    .array(fc.integer({ min: 0x21, max: 0xff }), { maxLength: 20 })
    .map((bytes) => String.fromCharCode(...bytes)),
);
