import type { IncomingMessage } from 'node:http';

/** The parameters of a request. Those without a value are left out (RFC 6749 3.1). */
export type Parameters = ReadonlyMap<string, string>;

/** The parameters of a query, and the names that occur more than once. */
export interface QueryParameters {
  values: Parameters;
  repeated: ReadonlySet<string>;
}

/** Maximum number of parameters that are read. */
const parametersMax = 100;

export function readQuery(url: string): QueryParameters {
  const start = url.indexOf('?');
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  if (start === -1) return { values, repeated };
  let count = 0;
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    count += 1;
    if (count > parametersMax) break;
    if (values.has(name)) repeated.add(name);
    else if (value !== '') values.set(name, value);
  }
  return { values, repeated };
}

/** The parameters of a form that was read. A repeated one was refused. */
export function readForm({ body }: IncomingMessage): Parameters {
  if (typeof body !== 'object' || body === null) return new Map();
  return new Map(
    Object.entries(body).filter((entry): entry is [string, string] => {
      const [, value] = entry;
      return typeof value === 'string' && value !== '';
    }),
  );
}

/** Appends parameters to a redirect URI, whose own query stays (RFC 6749 3.1.2). */
export function withQuery(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.append(name, value);
  const text = String(query);
  if (text === '') return uri;
  return `${uri}${uri.includes('?') ? '&' : '?'}${text}`;
}
