import { randomBytes, randomUUID } from 'node:crypto';
import type { Test } from 'supertest';
import type { Actor } from '../../src/authentication/actor.ts';
import type { TestApp } from './test-app.ts';

/** Somebody with requests of their own. */
export interface TestPerson extends Actor {
  get: (path: string) => Test;
  post: (path: string, body?: object) => Test;
  put: (path: string, body?: object) => Test;
  patch: (path: string, body?: object) => Test;
  delete: (path: string) => Test;
  options: (path: string) => Test;
}

/** Somebody whom the mirror knows. */
export async function aPerson(
  app: Pick<TestApp, 'http' | 'sql'>,
  overrides: Partial<Actor> & { ssoId?: string } = {},
): Promise<TestPerson> {
  const name = `ann-${randomBytes(5).toString('hex')}`;
  const { ssoId, ...flags } = overrides;
  const actor: Actor = {
    id: randomUUID(),
    username: name,
    email: `${name}@example.com`,
    isVerified: true,
    isStaff: false,
    isSuperuser: false,
    ...flags,
  };
  await app.sql(
    `INSERT INTO identity_mirror (id, username, email, sso_provider, sso_id, is_staff, is_superuser, as_of, source)
     VALUES ($1, $2, $3, $4, $5, $6, $7, now(), 'token')`,
    [
      actor.id,
      actor.username,
      actor.email,
      ssoId === undefined ? null : 'google',
      ssoId ?? null,
      actor.isStaff,
      actor.isSuperuser,
    ],
  );
  return personWithRequests(app, actor);
}

/** The same person, asking another instance. */
export function personWithRequests(app: Pick<TestApp, 'http'>, actor: Actor): TestPerson {
  const header = Buffer.from(JSON.stringify(actor)).toString('base64url');
  const as = (test: Test) => test.set('X-Test-Actor', header);
  const send = (test: Test, body?: object) => (body === undefined ? as(test) : as(test).send(body));
  return {
    ...actor,
    get: (path) => as(app.http.get(path)),
    post: (path, body) => send(app.http.post(path), body),
    put: (path, body) => send(app.http.put(path), body),
    patch: (path, body) => send(app.http.patch(path), body),
    delete: (path) => as(app.http.delete(path)),
    options: (path) => as(app.http.options(path)),
  };
}
