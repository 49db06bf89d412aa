import type { FakeTracker } from '../../src/fakes.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // Recursive, so that tests can read any path; a missing member is undefined and fails the assertion.
  readonly body: Shape;
}

export type Shape = Readonly<Record<string, unknown>> & { readonly [index: number]: Shape };

export interface Send {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends one request with the fake's token. @param path after the base URL, or a whole URL */
export async function send(
  tracker: FakeTracker,
  method: string,
  path: string,
  given: Send = {},
): Promise<Reply> {
  const response = await fetch(path.startsWith('http') ? path : tracker.url + path, {
    method,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${tracker.token}`,
      ...(given.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...given.headers,
    },
    ...(given.body === undefined ? {} : { body: textOf(given.body) }),
    ...(given.signal === undefined ? {} : { signal: given.signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}

/** The URL of a relation in a `Link` header. */
export function linked({ headers }: Reply, relation: string): string | undefined {
  const links = headers.get('link')?.split(/,\s*(?=<)/) ?? [];
  return links
    .map((link) => /^<(.+)>; rel="(\w+)"$/.exec(link))
    .find((match) => match?.[2] === relation)?.[1];
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}
