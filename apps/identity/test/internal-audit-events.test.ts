import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AuditEvent, auditEventSchema, auditTypes } from '@tessera/contracts';
import { encodeCursor } from '@tessera/service-kit';
import { expectInvalidFields } from '@tessera/testing/problems';
import { signedIn, updateIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { nextPath, walk } from './support/pages.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('GET /internal/audit-events', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const internal = internalClient(() => app);
  const path = '/internal/audit-events';
  const list = async (query: Record<string, string>): Promise<AuditEvent[]> => {
    const { body } = await internal('get', path).query(query).expect(200);
    return body.map((event: unknown) => auditEventSchema.strict().parse(event));
  };
  const typesOf = (events: readonly AuditEvent[]) => events.map(({ type }) => type);

  /** Creates an identity, signs it in, fails a sign-in and renames it as a backend. */
  async function withHistory() {
    const { identity } = await signedIn(app);
    await app.http
      .post('/token')
      .set('User-Agent', 'Guesser/1')
      .send({ grant_type: 'password', email: identity.email, password: 'not the password' })
      .expect(401);
    await updateIdentity(app, identity.id, { username: 'renamed' });
    return identity;
  }

  it('returns events unchanged, newest first', async () => {
    const { id } = await withHistory();
    const response = await internal('get', path).query({ identity_id: id }).expect(200);
    expect(response.headers['cache-control']).toBe('no-store');
    const events = await list({ identity_id: id });
    expect(typesOf(events)).toEqual([
      'identity.updated',
      'token.refused',
      'token.issued',
      'identity.created',
    ]);
    expect(events[0]).toMatchObject({
      actor: 'service',
      outcome: 'success',
      details: { fields: ['username'] },
    });
    expect(events[1]).toMatchObject({
      actor: 'user',
      outcome: 'failure',
      identity_id: id,
      user_agent: 'Guesser/1',
      ip: expect.stringMatching(/127\.0\.0\.1$/),
      request_id: expect.any(String),
      details: { email_hmac: expect.stringMatching(/^email:/) },
    });
  });

  it('filters by identity, type, outcome and actor, alone and combined', async () => {
    const [{ id }, other] = [await withHistory(), await withHistory()];
    const ofOne = { identity_id: id };
    expect(typesOf(await list({ ...ofOne, type: 'token.issued' }))).toEqual(['token.issued']);
    expect(typesOf(await list({ ...ofOne, outcome: 'failure' }))).toEqual(['token.refused']);
    expect(typesOf(await list({ ...ofOne, actor: 'service' }))).toEqual([
      'identity.updated',
      'identity.created',
    ]);
    expect(await list({ ...ofOne, actor: 'service', outcome: 'failure' })).toEqual([]);
    const refused = await list({ type: 'token.refused', outcome: 'failure', actor: 'user' });
    expect(refused.map((event) => event.identity_id)).toEqual(expect.arrayContaining([id, other.id]));
    expect(new Set(typesOf(refused))).toEqual(new Set(['token.refused']));
  });

  it('filters by time, including the lower bound and excluding the upper bound', async () => {
    const { id } = await withHistory();
    // Inserted two hours apart, because events cannot be updated.
    for (const hour of ['10', '12']) {
      await app.sql(
        `INSERT INTO audit_events (type, outcome, actor, identity_id, at)
         VALUES ('token.issued', 'success', 'user', $1, '2020-02-02T${hour}:00:00Z')`,
        [id],
      );
    }
    const times = async (query: Record<string, string>) =>
      (await list({ identity_id: id, type: 'token.issued', ...query }))
        .map(({ at }) => at)
        .filter((at) => at < '2021');
    const [late, early] = ['2020-02-02T12:00:00.000Z', '2020-02-02T10:00:00.000Z'];
    expect(await times({ before: late })).toEqual([early]);
    expect(await times({ after: late })).toEqual([late]);
    expect(await times({ after: early, before: late })).toEqual([early]);
    expect(await times({ after: '2020-02-02', before: '2020-02-03' })).toEqual([late, early]);
    expect(await times({ after: '2020-02-02T14:00:00+02:00' })).toEqual([late]);
  });

  it('returns the events of a deleted identity and of sign-ins with an unknown e-mail', async () => {
    const { id } = await withHistory();
    await internal('delete', `/internal/identities/${id}`).expect(204);
    expect(typesOf(await list({ identity_id: id }))[0]).toBe('identity.deleted');
    await app.http
      .post('/token')
      .send({ grant_type: 'password', email: 'nobody@example.com', password: 'guessed it' });
    const [newest] = await list({ type: 'token.refused', limit: '1' });
    expect(newest?.identity_id).toBeNull();
  });

  it('returns each event once across pages, also within one millisecond and while events are written', async () => {
    const { id } = await withHistory();
    await app.sql(
      `INSERT INTO audit_events (type, outcome, actor, identity_id, at)
       SELECT 'token.issued', 'success', 'user', $1, date_trunc('second', now()) FROM generate_series(1, 20)`,
      [id],
    );
    const before = await list({ identity_id: id });
    const { items, pages } = await walk<AuditEvent>(
      (page) => internal('get', page),
      `${path}?identity_id=${id}&limit=7`,
    );
    expect(pages).toBe(4);
    expect(items).toEqual(before);
    const first = await internal('get', `${path}?identity_id=${id}&limit=20`);
    await updateIdentity(app, id, { username: 'again' });
    const rest = await internal('get', nextPath(first) ?? '');
    expect([...first.body, ...rest.body]).toEqual(before);
  });

  it('ends a page before 512 KiB and links to the next page', async () => {
    const { id } = await withHistory();
    await app.sql(
      `INSERT INTO audit_events (type, outcome, actor, identity_id, details)
       SELECT 'token.issued', 'success', 'user', $1, jsonb_build_object('reason', repeat('é', 3000))
         FROM generate_series(1, 196)`,
      [id],
    );
    const first = await internal('get', `${path}?identity_id=${id}&limit=200`);
    expect(Buffer.byteLength(first.text)).toBeLessThanOrEqual(512 * 1024);
    expect(first.body.length).toBeGreaterThan(50);
    const { items } = await walk<AuditEvent>(
      (page) => internal('get', page),
      `${path}?identity_id=${id}&limit=200`,
    );
    expect(new Set(items.map((event) => event.id)).size).toBe(200);
  });

  it.each([
    ['identity_id=7', 'identity_id'],
    ['type=token', 'type'],
    ['type=token.issued&type=token.refused', 'type'],
    ['outcome=maybe', 'outcome'],
    ['actor=nobody', 'actor'],
    ['after=yesterday', 'after'],
    ['before=1600000000', 'before'],
    ['limit=201', 'limit'],
    ['cursor=nonsense', 'cursor'],
    [`cursor=${encodeCursor({ at: '0000-01-01T00:00:00.000Z', id: 1 }, path)}`, 'cursor'],
    [`cursor=${encodeCursor({ at: '2026-01-01T00:00:00.000Z', id: 1 }, `${path}?actor=service`)}`, 'cursor'],
    ['email=ann@example.com', 'email'],
  ])('returns 422 naming the parameter for ?%s', async (query, field) => {
    expectInvalidFields(await internal('get', `${path}?${query}`), [field]);
  });

  it('accepts every type that the service writes as a filter', async () => {
    await withHistory();
    const rows = await app.sql<{ type: string }>('SELECT DISTINCT type FROM audit_events');
    expect(auditTypes).toEqual(expect.arrayContaining(rows.map(({ type }) => type)));
    for (const type of auditTypes) await list({ type, limit: '1' });
  });

  it('returns 403 without the service token', async () => {
    await app.http.get(path).expect(403);
  });
});
