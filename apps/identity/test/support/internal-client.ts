import type { Test } from 'supertest';
import { serviceToken, type TestApp } from './test-app.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Sends requests to the internal API with the service token. */
export function internalClient(app: () => Pick<TestApp, 'http'>) {
  return (method: Method, path: string): Test =>
    app().http[method](path).set('X-Service-Token', serviceToken);
}

/** A well-formed id that no identity has. */
export const unknownId = '00000000-0000-4000-8000-000000000000';
