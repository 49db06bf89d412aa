import fc from 'fast-check';
import { bodiesOf } from './body.arbitrary.ts';
import { hostileBytes } from './hostile.arbitrary.ts';
import type { Operation } from './operation.ts';
import type { ValueSource } from './schema.arbitrary.ts';
import { targetsOf } from './target.arbitrary.ts';

export type HeaderField = [name: string, value: string];

/** A request; strings contain one character for each byte. */
export interface FuzzRequest {
  method: string;
  target: string;
  headers: HeaderField[];
  body: Buffer | undefined;
}

/** The inputs of the generator. */
export interface RequestSource extends ValueSource {
  /** The header fields of valid credentials by security scheme. */
  credentials: Record<string, HeaderField[]>;
}

const longText = 'x'.repeat(9_000);
const awkwardValues = [
  '',
  ',',
  '*',
  '"',
  '"\\',
  '\xff',
  'a\x01b',
  ', ,',
  '=',
  '-1',
  '99999999999999999999',
  longText,
];
const awkwardHeaders: Record<string, string[]> = {
  Accept: ['text/html', '*/*;q=0', 'application/problem+json', 'application/json;q=x', '/', 'a'.repeat(300)],
  'Accept-Encoding': ['gzip', 'br', '*;q=0', 'identity;q=0'],
  'If-Match': ['*', '"1"', 'W/"1.1"', '"1.1", "1.2"', '"', '1.1', '"\xff"'],
  'If-None-Match': ['*', '"1.1"', 'W/"1.1"', '"', '1'],
  'If-Modified-Since': ['never', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  'Idempotency-Key': ['k', '"quoted"', 'a b', '\xe9', 'x'.repeat(256)],
  'X-Request-Id': ['', 'ok-1', 'a b', '\xff', 'x'.repeat(200)],
  Origin: ['null', 'https://elsewhere.example', 'http://[', ''],
  'Access-Control-Request-Method': ['PUT', '\xff', ''],
  'X-Forwarded-For': ['127.0.0.1', 'unknown', '::::', `${'1.1.1.1, '.repeat(200)}`],
  'X-Forwarded-Proto': ['https', 'javascript'],
  Forwarded: ['for="[::1', 'for=;;'],
  'X-HTTP-Method-Override': ['DELETE', '__proto__'],
  'User-Agent': ['', '\xff', longText],
  Cookie: ['a=b; a=c', '=', longText],
  Range: ['bytes=0-0', 'bytes=-', 'lines=1'],
  Expect: ['100-continue', 'nonsense'],
  Upgrade: ['h2c', 'websocket'],
  TE: ['trailers', 'chunked'],
  Host: ['', 'a b', 'elsewhere.example:99999', '[', 'second.example'],
  ['__proto__']: ['x'],
  constructor: ['x'],
};

const oddHeader: fc.Arbitrary<HeaderField> = fc
  .constantFrom(...Object.entries(awkwardHeaders))
  .chain(([name, values]) =>
    fc
      .oneof(fc.constantFrom(...values), fc.constantFrom(...awkwardValues), hostileBytes)
      .map((value): HeaderField => [name, value]),
  );

// Contains only invalid lengths, because the server would wait for a body of a valid length that never arrives.
const oddFraming: HeaderField[] = [
  ['Transfer-Encoding', 'identity'],
  ['Transfer-Encoding', 'gzip, chunked'],
  ['Transfer-Encoding', '\xe9'],
  ['Content-Length', '-1'],
  ['Content-Length', '1e3'],
  ['Content-Length', '5, 5'],
  ['Content-Length', '99999999999999999999'],
];

// Excludes DELETE, because it would remove data that later requests need.
const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'TRACE', 'PROPFIND', 'get', 'FOO'];

/** Requests for an operation. Most are wrong in one respect only, so that they pass the first checks. */
export function requestsOf(operation: Operation, source: RequestSource): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      method: fc.oneof(
        { weight: 30, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom(...methods) },
      ),
      target: targetsOf(operation, source),
      host: fc.oneof(
        { weight: 60, arbitrary: fc.constant(['Host']) },
        { weight: 1, arbitrary: fc.constant([]) },
      ),
      credentials: credentialsOf(operation, source.credentials),
      odd: fc.oneof(
        { weight: 20, arbitrary: fc.constant<HeaderField[]>([]) },
        { weight: 1, arbitrary: fc.constantFrom(...oddFraming).map((field) => [field]) },
        { weight: 3, arbitrary: fc.array(oddHeader, { minLength: 1, maxLength: 3 }) },
      ),
      body: bodiesOf(operation, source),
    })
    .map(({ method, target, host, credentials, odd, body }) => ({
      method,
      target,
      headers: [
        ...host.map((name): HeaderField => [name, 'service.test']),
        ...credentials,
        ...odd,
        ...body.headers,
      ],
      body: body.bytes,
    }));
}

function credentialsOf(
  operation: Operation,
  known: Record<string, HeaderField[]>,
): fc.Arbitrary<HeaderField[]> {
  const valid = operation.security.flatMap((scheme) => known[scheme] ?? []);
  if (valid.length === 0) return fc.constant([]);
  return fc.oneof(
    { weight: 24, arbitrary: fc.constantFrom(...valid).map((field) => [field]) },
    { weight: 1, arbitrary: fc.constant<HeaderField[]>([]) },
    { weight: 2, arbitrary: fc.constantFrom(...valid).chain(wrongCredentials) },
  );
}

function wrongCredentials([name, value]: HeaderField): fc.Arbitrary<HeaderField[]> {
  const [scheme = ''] = value.split(' ');
  return fc.oneof(
    fc.constantFrom<HeaderField[]>(
      [[name, '']],
      [[name, scheme]],
      [[name, `${value}x`]],
      [[name, `${value}, ${value}`]],
      [[name, `${value}\xff`]],
      [[name, value.toUpperCase()]],
      [
        [name, value],
        [name, value],
      ],
      [[name, `${scheme} ${longText}`]],
      [[name, `${scheme} ..`]],
      [[name, `${scheme} eyJhbGciOiJub25lIn0.e30.`]],
      [[name, 'Basic Og==']],
    ),
    hostileBytes.map((bytes): HeaderField[] => [[name, `${scheme} ${bytes}`]]),
  );
}
