import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type SessionDetails, sessionSchema } from '@tessera/contracts';
import { encodeCursor } from '@tessera/service-kit';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { decodeJwt } from 'jose';
import { signedIn, signIn, updateIdentity } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { walk } from './support/pages.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const internal = internalClient(() => app);
const sessionsPath = (id: string) => `/internal/identities/${id}/sessions`;
const sessionsOf = async (id: string): Promise<SessionDetails[]> =>
  (await internal('get', sessionsPath(id)).expect(200)).body;
const refresh = (token: string) => app.http.post('/token/refresh').send({ refresh_token: token });
const auditOf = (id: string, type: string) =>
  app.sql('SELECT actor, outcome, details FROM audit_events WHERE identity_id = $1 AND type = $2', [
    id,
    type,
  ]);

/** Creates an identity with this many sessions, oldest first. */
async function withSessions(count: number) {
  const first = await signedIn(app);
  const tokens = [first.tokens];
  while (tokens.length < count) tokens.push(await signIn(app, first.identity.email, first.password));
  return { ...first, refreshTokens: tokens.map((pair) => pair.refresh_token) };
}

async function familyOf(refreshToken: string): Promise<string> {
  const [row] = await app.sql<{ family_id: string }>('SELECT family_id FROM refresh_tokens WHERE jti = $1', [
    decodeJwt(refreshToken).jti,
  ]);
  return row?.family_id ?? '';
}

describe('GET /internal/identities/{id}/sessions', () => {
  it('returns live sessions, newest first, with the time and client of their sign-in', async () => {
    const { identity, password, refreshTokens } = await withSessions(1);
    await app.http
      .post('/token')
      .set('User-Agent', 'Device/2')
      .send({ grant_type: 'password', email: identity.email, password })
      .expect(200);
    const response = await internal('get', sessionsPath(identity.id)).expect(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers.link).toBeUndefined();
    const sessions = response.body.map((session: unknown) => sessionSchema.strict().parse(session));
    expect(sessions).toHaveLength(2);
    expect(sessions[0].user_agent).toBe('Device/2');
    expect(sessions[0].created_ip).toMatch(/127\.0\.0\.1$/);
    expect(sessions[1].id).toBe(await familyOf(refreshTokens[0] ?? ''));
    const lifetime = Date.parse(sessions[0].expires_at) - Date.parse(sessions[0].idle_expires_at);
    expect(Math.round(lifetime / 86_400_000)).toBe(16);
  });

  it('returns one session across rotations and updates its last use and idle expiry', async () => {
    const { identity, refreshTokens } = await withSessions(1);
    const [token = ''] = refreshTokens;
    await app.sql(`UPDATE token_families SET last_used_at = now() - interval '1 day' WHERE id = $1`, [
      await familyOf(token),
    ]);
    const [before] = await sessionsOf(identity.id);
    const { body } = await refresh(token).expect(200);
    const [after, ...others] = await sessionsOf(identity.id);
    expect(others).toEqual([]);
    expect(after).toMatchObject({
      id: before?.id,
      created_at: before?.created_at,
      expires_at: before?.expires_at,
    });
    expect(Date.parse(after?.last_used_at ?? '')).toBeGreaterThan(Date.parse(before?.last_used_at ?? ''));
    expect(Date.parse(after?.idle_expires_at ?? '') / 1000).toBe(decodeJwt(body.refresh_token).exp);
  });

  it('omits sessions that are revoked, expired, idle for too long, or of an earlier epoch', async () => {
    const { identity, password, refreshTokens } = await withSessions(4);
    const [revoked = '', ended = '', idle = '', live = ''] = refreshTokens;
    await app.http.post('/token/revoke').send({ token: revoked }).expect(200);
    await app.sql('UPDATE token_families SET expires_at = now() WHERE id = $1', [await familyOf(ended)]);
    await app.sql('UPDATE refresh_tokens SET expires_at = now() WHERE jti = $1', [decodeJwt(idle).jti]);
    expect((await sessionsOf(identity.id)).map(({ id }) => id)).toEqual([await familyOf(live)]);
    await updateIdentity(app, identity.id, { password });
    expect(await sessionsOf(identity.id)).toEqual([]);
  });

  it('omits sessions from before SESSIONS_VALID_AFTER and returns 404 to their revocation', async () => {
    const { identity, refreshTokens } = await withSessions(1);
    const braked = await startTestApp(
      { SESSIONS_VALID_AFTER: new Date(Date.now() + 5000).toISOString() },
      app.databaseUrl,
    );
    const there = internalClient(() => braked);
    expect((await there('get', sessionsPath(identity.id)).expect(200)).body).toEqual([]);
    const path = `${sessionsPath(identity.id)}/${await familyOf(refreshTokens[0] ?? '')}`;
    expectProblem(await there('delete', path), 404, 'session_not_found');
    await braked.close();
  });

  it('returns each session once across pages, also when several began in the same millisecond', async () => {
    const { identity } = await withSessions(5);
    await app.sql(
      `UPDATE token_families SET created_at = date_trunc('second', now()) WHERE identity_id = $1`,
      [identity.id],
    );
    const { items, pages } = await walk<SessionDetails>(
      (path) => internal('get', path),
      `${sessionsPath(identity.id)}?limit=2`,
    );
    expect(pages).toBe(3);
    expect(items).toEqual(await sessionsOf(identity.id));
    expect(new Set(items.map(({ id }) => id)).size).toBe(5);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=nonsense', 'cursor'],
    ['order=oldest', 'order'],
  ])('returns 422 for ?%s', async (query, field) => {
    const { identity } = await withSessions(1);
    expectInvalidFields(await internal('get', `${sessionsPath(identity.id)}?${query}`), [field]);
  });

  it('returns 422 for a cursor with an invalid position and for a cursor of another list', async () => {
    const { identity } = await withSessions(1);
    const path = sessionsPath(identity.id);
    const place = { createdAt: '2026-01-01T00:00:00.000Z', id: identity.id };
    await internal('get', `${path}?cursor=${encodeCursor(place, path)}`).expect(200);
    for (const cursor of [
      encodeCursor({ ...place, id: 'x' }, path),
      encodeCursor({ ...place, createdAt: '0000-01-01T00:00:00.000Z' }, path),
      encodeCursor(place, '/internal/audit-events'),
    ]) {
      expectInvalidFields(await internal('get', `${path}?cursor=${cursor}`), ['cursor']);
    }
  });

  it('returns 404 for an unknown and a deleted identity, 422 for an invalid id, 403 without the service token', async () => {
    const { identity } = await withSessions(1);
    await app.http.get(sessionsPath(identity.id)).expect(403);
    await internal('delete', `/internal/identities/${identity.id}`).expect(204);
    for (const id of [identity.id, unknownId]) {
      expectProblem(await internal('get', sessionsPath(id)), 404, 'identity_not_found');
    }
    expectInvalidFields(await internal('get', sessionsPath('7')), ['id']);
  });
});

describe('DELETE /internal/identities/{id}/sessions/{session_id}', () => {
  it('revokes that session only and records the service as the actor in the audit trail', async () => {
    const { identity, refreshTokens } = await withSessions(2);
    const [ended = '', kept = ''] = refreshTokens;
    const id = await familyOf(ended);
    await internal('delete', `${sessionsPath(identity.id)}/${id}`).expect(204);
    await refresh(ended).expect(401);
    await refresh(kept).expect(200);
    expect(await auditOf(identity.id, 'family.revoked')).toEqual([
      { actor: 'service', outcome: 'success', details: { family: id, reason: 'revoked_by_service' } },
    ]);
  });

  it('returns 204 to one of many concurrent requests and writes one event', async () => {
    const { identity, refreshTokens } = await withSessions(1);
    const path = `${sessionsPath(identity.id)}/${await familyOf(refreshTokens[0] ?? '')}`;
    const answers = await Promise.all(Array.from({ length: 8 }, () => internal('delete', path)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)]);
    expect(await auditOf(identity.id, 'family.revoked')).toHaveLength(1);
  });

  it("returns 404 for another identity's session and does not revoke it", async () => {
    const [own, other] = [await withSessions(1), await withSessions(1)];
    const [token = ''] = other.refreshTokens;
    const response = await internal('delete', `${sessionsPath(own.identity.id)}/${await familyOf(token)}`);
    expectProblem(response, 404, 'session_not_found');
    await refresh(token).expect(200);
  });

  it('returns 404 for an unknown identity and 422 for an invalid id', async () => {
    const response = await internal('delete', `${sessionsPath(unknownId)}/${unknownId}`);
    expectProblem(response, 404, 'identity_not_found');
    expectInvalidFields(await internal('delete', `${sessionsPath(unknownId)}/7`), ['session_id']);
  });
});

describe('DELETE /internal/identities/{id}/sessions', () => {
  it('revokes every session, records it in the audit trail, and allows a new sign-in immediately', async () => {
    const { identity, password, refreshTokens } = await withSessions(2);
    await internal('delete', sessionsPath(identity.id)).expect(204);
    expect(await sessionsOf(identity.id)).toEqual([]);
    for (const token of refreshTokens) await refresh(token).expect(401);
    expect(await auditOf(identity.id, 'sessions.revoked')).toEqual([
      { actor: 'service', outcome: 'success', details: {} },
    ]);
    const { refresh_token: fresh, access_token: access } = await signIn(app, identity.email, password);
    await app.http.get('/userinfo').set('Authorization', `Bearer ${access}`).expect(200);
    await refresh(fresh).expect(200);
  });

  it('makes /userinfo reject earlier access tokens', async () => {
    const { identity, tokens } = await withSessions(1);
    const [before] = await app.sql('SELECT updated_at FROM identities WHERE id = $1', [identity.id]);
    await internal('delete', sessionsPath(identity.id)).expect(204);
    expect(await app.sql('SELECT updated_at FROM identities WHERE id = $1', [identity.id])).toEqual([before]);
    await app.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`).expect(401);
  });

  it('returns 204 without sessions, and 404 for an unknown and a deleted identity', async () => {
    const { identity } = await withSessions(1);
    await internal('delete', sessionsPath(identity.id)).expect(204);
    await internal('delete', sessionsPath(identity.id)).expect(204);
    await internal('delete', `/internal/identities/${identity.id}`).expect(204);
    for (const id of [identity.id, unknownId]) {
      expectProblem(await internal('delete', sessionsPath(id)), 404, 'identity_not_found');
    }
  });
});
