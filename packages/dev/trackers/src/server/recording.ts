import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { RecordedRequest } from '../fake-tracker.ts';

/** A recorded request that is not complete yet. */
export interface Recording extends RecordedRequest {
  body: unknown;
  status: number | null;
}

const CREDENTIALS = ['authorization', 'proxy-authorization', 'private-token', 'job-token', 'cookie'];

export function record(request: IncomingMessage): Recording {
  const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
  const headers = Object.entries(request.headers).filter(([name]) => !CREDENTIALS.includes(name));
  return {
    method: request.method ?? '',
    path,
    query: { ...parse(query) },
    headers: Object.fromEntries(headers),
    body: undefined,
    status: null,
    at: new Date(),
  };
}
