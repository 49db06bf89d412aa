import type { Test } from 'supertest';
import { serviceToken, type TestApp } from './test-app.ts';

type Method = 'get' | 'post' | 'put' | 'delete';

/** A request to the internal API with its service token. */
export function internalClient(app: () => Pick<TestApp, 'http'>) {
  return (method: Method, path: string): Test =>
    app().http[method](path).set('X-Service-Token', serviceToken);
}

/** Well-formed, and nobody's. */
export const unknownId = '00000000-0000-4000-8000-000000000000';
