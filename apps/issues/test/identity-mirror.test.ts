import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AccessTokenClaims, Identity } from '@tessera/contracts';
import { createLogger } from '@tessera/service-kit';
import { eventually } from '@tessera/stack/eventually';
import { Leases } from '../src/background/leases.ts';
import type { Lookup } from '../src/identity-mirror/identity-client.ts';
import { IdentityClient } from '../src/identity-mirror/identity-client.ts';
import { IdentityMirrorRepository } from '../src/identity-mirror/identity-mirror.repository.ts';
import { IdentityMirrorService } from '../src/identity-mirror/identity-mirror.service.ts';
import { MirrorBackfillRepository } from '../src/identity-mirror/mirror-backfill.repository.ts';
import { MirrorBackfill } from '../src/identity-mirror/mirror-backfill.ts';
import type { KnownIdentity } from '../src/identity-mirror/mirrored-identity.ts';
import { FakeIdentity, json, wireIdentity } from './support/fake-identity.ts';
import './support/response-guard.ts';
import { recordingLog, rememberSecret } from '@tessera/testing/leaks';
import { startTestApp, type TestApp } from './support/test-app.ts';

/** Counts statements. */
class CountedRepository extends IdentityMirrorRepository {
  statements = 0;
  override find(id: string) {
    this.statements += 1;
    return super.find(id);
  }
  override findCaller(id: string) {
    this.statements += 1;
    return super.findCaller(id);
  }
  override upsertClaims(claims: AccessTokenClaims) {
    this.statements += 1;
    return super.upsertClaims(claims);
  }
}

let app: TestApp;
let stub: FakeIdentity;
let repository: CountedRepository;
beforeAll(async () => {
  app = await startTestApp();
  stub = await FakeIdentity.start();
  repository = new CountedRepository(app.database);
});
afterAll(async () => {
  await stub.stop();
  await app.close();
});

/** Starts a mirror with its own cache and circuit breaker, like another replica. */
function startReplica(url = stub.url): IdentityMirrorService {
  return startPeople(url).mirror;
}

function startPeople(url = stub.url) {
  const logger = createLogger({ service: 'issues', level: 'debug', destination: recordingLog() });
  const serviceToken = rememberSecret('a-service-token-of-the-mirror-tests-0123');
  const client = new IdentityClient({ url, serviceToken, timeoutMs: 60_000, breakMs: 50, logger });
  const mirror = new IdentityMirrorService({ repository, client });
  const backfill = new MirrorBackfill(
    { client, mirror, repository: new MirrorBackfillRepository(app.database, new Leases()), logger },
    { intervalSeconds: 0, pauseMs: 1 },
  );
  return { mirror, backfill };
}

const now = Math.floor(Date.now() / 1000);
/** A time relative to now, in seconds. */
const at = (seconds: number) => new Date((now + seconds) * 1000);

function known(overrides: Partial<KnownIdentity> = {}): KnownIdentity {
  const id = randomUUID();
  return {
    id,
    username: 'ann',
    displayName: null,
    email: `${id}@example.com`,
    ssoProvider: null,
    ssoId: null,
    isActive: true,
    isVerified: false,
    isStaff: false,
    isSuperuser: false,
    ...overrides,
  };
}

function claimsOf(
  identity: KnownIdentity,
  iat: number,
  overrides: Partial<AccessTokenClaims> = {},
): AccessTokenClaims {
  return {
    sub: identity.id,
    iss: 'x',
    aud: 'x',
    iat: now + iat,
    exp: now + iat + 900,
    jti: randomUUID(),
    type: 'access',
    email: identity.email,
    username: identity.username,
    is_verified: identity.isVerified,
    is_staff: identity.isStaff,
    is_superuser: identity.isSuperuser,
    ...overrides,
  };
}

/** Stores a response of identity: its `updated_at`, when it was requested and when it arrived. */
const keep = (identity: KnownIdentity, updated: number, asked: number, answered: number) =>
  repository.upsert({ ...identity, updatedAt: at(updated) }, 'lookup', {
    askedAt: at(asked),
    answeredAt: at(answered),
  });

const nameOf = async (id: string) => (await repository.find(id))?.username;

describe('a mirror row', () => {
  it('is overwritten by a later request even if the response has an older updated_at', async () => {
    // This happens if identity's database was restored from a backup.
    const ann = known();
    await keep({ ...ann, username: 'new' }, -100, -90, -89);
    await keep({ ...ann, username: 'restored' }, -500, -80, -79);
    expect(await nameOf(ann.id)).toBe('restored');
  });

  it('keeps the later state of two overlapping requests in either order of arrival', async () => {
    // A look-up overtakes a slow change and reads the previous state.
    for (const order of ['change first', 'look-up first']) {
      const ann = known();
      const change = () => keep({ ...ann, username: 'changed', isActive: false }, -50, -100, -49);
      const lookUp = () => keep({ ...ann, username: 'before' }, -900, -80, -48);
      for (const arrive of order === 'change first' ? [change, lookUp] : [lookUp, change]) await arrive();
      expect(await repository.find(ann.id)).toMatchObject({ username: 'changed', isActive: false });
    }
  });

  it('has the values of the last change, if they are equal to earlier ones and an overlapping look-up read others', async () => {
    const ann = known();
    await keep(ann, -100, -95, -94);
    const last = { askedAt: at(-49), answeredAt: at(-48) };
    expect(await repository.upsertChanged([{ ...ann, updatedAt: at(-50) }], last)).toEqual([ann.id]);
    await keep({ ...ann, isActive: false }, -70, -60, -40);
    expect(await repository.find(ann.id)).toMatchObject({ isActive: true, asOf: at(-50) });
  });

  it('ends with the latest state after concurrent writes of responses and claims in random order', async () => {
    for (let round = 0; round < 5; round += 1) {
      const ann = known();
      const answers = Array.from(
        { length: 15 },
        (_, index) => () =>
          keep({ ...ann, username: `answer ${index}`, isStaff: true }, index - 100, -200, 0),
      );
      const tokens = Array.from(
        { length: 15 },
        (_, index) => () =>
          repository.upsertClaims(claimsOf(ann, index - 150, { username: `token ${index}` })),
      );
      const writes = [...answers, ...tokens].sort(() => Math.random() - 0.5);
      await Promise.all(writes.map((write) => write()));
      expect(await repository.find(ann.id)).toMatchObject({
        username: 'answer 14',
        isStaff: true,
        asOf: at(-86),
      });
    }
  });

  it('is updated only by claims that differ and are newer than every response', async () => {
    const ann = known({ ssoProvider: 'google', ssoId: '17' });
    await keep(ann, -100, -60, -59);
    const older = claimsOf(ann, -70, { username: 'older', is_staff: true });
    await repository.upsertClaims(older);
    expect(await repository.find(ann.id)).toMatchObject({ username: 'ann', isStaff: false, asOf: at(-100) });
    await repository.upsertClaims(claimsOf(ann, -10));
    // Identical claims cause no write.
    expect(await repository.find(ann.id)).toMatchObject({ asOf: at(-100), checkedAt: at(-59) });
    await repository.upsertClaims(claimsOf(ann, -10, { username: 'newer', is_staff: true }));
    expect(await repository.find(ann.id)).toMatchObject({
      username: 'newer',
      isStaff: true,
      isActive: true,
      ssoId: '17',
      asOf: at(-10),
    });
  });

  it('of a missing identity is kept as inactive, with the time of the first missing response', async () => {
    const ann = known();
    await keep(ann, -100, -60, -59);
    await repository.markMissing(ann.id, { askedAt: at(-50), answeredAt: at(-49) });
    await repository.markMissing(ann.id, { askedAt: at(-40), answeredAt: at(-39) });
    await repository.upsertClaims(claimsOf(ann, 10, { username: 'back' }));
    expect(await repository.find(ann.id)).toMatchObject({
      username: 'ann',
      isActive: false,
      missingSince: at(-49),
      checkedAt: at(-39),
    });
  });

  it('becomes active again by a later look-up, not by one that overlapped the deletion', async () => {
    const ann = known();
    await keep(ann, -100, -60, -59);
    await repository.markMissing(ann.id, { askedAt: at(-50), answeredAt: at(-49) });
    await keep(ann, -100, -51, -48);
    expect(await repository.find(ann.id)).toMatchObject({ isActive: false, missingSince: at(-49) });
    await keep(ann, -100, -40, -39);
    expect(await repository.find(ann.id)).toMatchObject({ isActive: true, missingSince: null });
  });

  it('is unique only by id: an identity may take over an e-mail, a name or an SSO pair', async () => {
    const ann = known({ ssoProvider: 'google', ssoId: randomUUID() });
    const next = { ...ann, id: randomUUID() };
    await keep(ann, -100, -60, -59);
    await keep(next, -50, -40, -39);
    const [first] = await repository.findActive({ email: ann.email.toUpperCase() });
    expect(first?.id).toBe(next.id);
    await keep({ ...next, email: `Ann@bücher.${next.id}` }, -50, -30, -29);
    const spelling = `ann@XN--bcher-kva.${next.id.toUpperCase()}.`;
    expect(await repository.findActive({ email: spelling })).toMatchObject([{ id: next.id }]);
    expect(await repository.findActive({ ssoProvider: 'google', ssoId: ann.ssoId ?? '' })).toHaveLength(2);
  });
});

describe('upserting the claims of a token', () => {
  const ask = () => stub.seen.length;
  beforeEach(() => {
    stub.seen.length = 0;
  });

  it('needs one write and one read for the first requests and no statement afterwards', async () => {
    const mirror = startReplica();
    const claims = claimsOf(known(), -5);
    repository.statements = 0;
    await Promise.all(Array.from({ length: 50 }, () => mirror.syncFromClaims(claims)));
    expect(repository.statements).toBe(2);
    repository.statements = 0;
    for (let count = 0; count < 100; count += 1) await mirror.syncFromClaims(claims);
    expect(repository.statements).toBe(0);
    expect(ask()).toBe(0);
  });

  it('writes the row again that a failover of the database has lost', async () => {
    const mirror = startReplica();
    const ann = known();
    const claims = claimsOf(ann, -5);
    await mirror.syncFromClaims(claims);
    await app.sql('DELETE FROM identity_mirror WHERE id = $1', [ann.id]);
    // The row is cached for 2 seconds.
    const find = async () => {
      const row = await mirror.syncFromClaims(claims);
      const [stored] = await app.sql('SELECT id FROM identity_mirror WHERE id = $1', [ann.id]);
      return stored === undefined ? undefined : row;
    };
    expect(await eventually(find)).toMatchObject({ id: ann.id, isActive: true });
  });

  it('sees a deactivation immediately on the same replica and after 2 seconds on another', async () => {
    const [here, there] = [startReplica(), startReplica()];
    const ann = known();
    const claims = claimsOf(ann, -5);
    const readAt = performance.now();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(readAt);
    await Promise.all([here.syncFromClaims(claims), there.syncFromClaims(claims)]);
    const moment = { askedAt: new Date(), answeredAt: new Date() };
    await here.markMissing(ann.id, moment);
    expect(await here.syncFromClaims(claims)).toMatchObject({ isActive: false });
    clock.mockReturnValue(readAt + 1_900);
    expect(await there.syncFromClaims(claims)).toMatchObject({ isActive: true });
    clock.mockReturnValue(readAt + 2_100);
    // lru-cache reads the clock once per millisecond.
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await there.syncFromClaims(claims)).toMatchObject({ isActive: false });
    clock.mockRestore();
    expect(ask()).toBe(0);
  });

  it('sends one request to identity for an inactive person whose token is newer than the row', async () => {
    const mirror = startReplica();
    const ann = known();
    await keep({ ...ann, isActive: false }, -100, -60, -59);
    expect(await mirror.syncFromClaims(claimsOf(ann, -70))).toMatchObject({ isActive: false });
    expect(ask()).toBe(0);

    // Identity confirms it, so later requests do not ask again.
    stub.answer = json(
      200,
      wireIdentity({ id: ann.id, is_active: false, updated_at: at(-100).toISOString() }),
    );
    const newer = claimsOf(ann, -30);
    expect(await mirror.syncFromClaims(newer)).toMatchObject({ isActive: false });
    expect(await mirror.syncFromClaims(newer)).toMatchObject({ isActive: false });
    expect(ask()).toBe(1);
  });

  it('accepts a person reactivated by another backend', async () => {
    const mirror = startReplica();
    const ann = known();
    await keep({ ...ann, isActive: false }, -100, -60, -59);
    stub.answer = json(200, wireIdentity({ id: ann.id, updated_at: at(-35).toISOString() }));
    expect(await mirror.syncFromClaims(claimsOf(ann, -30))).toMatchObject({ isActive: true });
  });

  it('rejects an inactive person while identity is unavailable', async () => {
    const mirror = startReplica('http://127.0.0.1:1');
    const ann = known();
    await keep({ ...ann, isActive: false }, -100, -60, -59);
    await expect(mirror.syncFromClaims(claimsOf(ann, -30))).rejects.toMatchObject({
      code: 'identity_unavailable',
    });
  });
});

describe('resolving a person', () => {
  const unavailable = { status: 503, code: 'identity_unavailable' };
  beforeEach(() => {
    stub.seen.length = 0;
    stub.answer = json(404, { code: 'identity_not_found' });
  });

  it('uses a row for about five minutes without a request to identity', async () => {
    const mirror = startReplica();
    const [fresh, old] = [known(), known({ isActive: true })];
    await keep(fresh, -900, -200, -200);
    await keep(old, -900, -400, -400);
    expect(await mirror.resolveForAssignment({ id: fresh.id }, 'x')).toEqual({
      id: fresh.id,
      username: 'ann',
    });
    expect(stub.seen).toEqual([]);
    stub.answer = json(200, wireIdentity({ id: old.id, username: 'today', email: old.email }));
    expect(await mirror.resolveForAssignment({ id: old.id }, 'x', 'request-17')).toEqual({
      id: old.id,
      username: 'today',
    });
    expect(stub.seen).toMatchObject([{ requestId: 'request-17' }]);
    expect(await mirror.resolveForAssignment({ email: old.email.toUpperCase() }, 'x')).toMatchObject({
      id: old.id,
    });
    expect(stub.seen).toHaveLength(1);
  });

  it.each<[string, number, boolean, boolean]>([
    ['was confirmed an hour ago', -3600, true, true],
    ['was confirmed 23 hours ago', -23 * 3600, true, true],
    ['was confirmed 25 hours ago', -25 * 3600, true, false],
    ['was inactive an hour ago', -3600, false, false],
  ])(
    'while identity is down, a person who %s (%d s, active: %s) is accepted: %s',
    async (_name, seconds, isActive, accepted) => {
      const mirror = startReplica('http://127.0.0.1:1');
      const ann = known({ isActive, ssoProvider: 'google', ssoId: randomUUID() });
      await keep(ann, seconds - 900, seconds, seconds);
      for (const reference of [
        { id: ann.id },
        { email: ann.email },
        { ssoProvider: 'google', ssoId: ann.ssoId ?? '' },
      ]) {
        const resolved = mirror.resolveForAssignment(reference, 'x');
        if (accepted) expect(await resolved).toEqual({ id: ann.id, username: 'ann' });
        else await expect(resolved).rejects.toMatchObject(unavailable);
      }
    },
  );

  it('while identity is down, accepts a person known from a token of the last day', async () => {
    const mirror = startReplica('http://127.0.0.1:1');
    const ann = known();
    await mirror.syncFromClaims(claimsOf(ann, -3600));
    expect(await mirror.resolveForAssignment({ id: ann.id }, 'x')).toMatchObject({ id: ann.id });
  });

  it('looks up former owners of an e-mail by id instead of marking them missing', async () => {
    const mirror = startReplica();
    const [gone, renamed] = [known({ email: 'shared@example.com' }), known({ email: 'shared@example.com' })];
    await keep(gone, -5000, -4000, -4000);
    await keep(renamed, -5000, -4000, -4000);
    const next = wireIdentity({ email: 'shared@example.com', username: 'next' });
    stub.answer = (request, response) => {
      const answers: Record<string, ReturnType<typeof json>> = {
        '/internal/identities/by-email/Shared%40example.com': json(200, next),
        [`/internal/identities/${renamed.id}`]: json(
          200,
          wireIdentity({ id: renamed.id, email: 'other@example.com' }),
        ),
      };
      (answers[request.url ?? ''] ?? json(404, { code: 'identity_not_found' }))(request, response);
    };
    const person = await mirror.resolveForAssignment({ email: 'Shared@example.com' }, 'x');
    expect(person).toEqual({ id: next.id, username: 'next' });
    expect(await repository.find(gone.id)).toMatchObject({ isActive: false, missingSince: expect.any(Date) });
    expect(await repository.find(renamed.id)).toMatchObject({ isActive: true, email: 'other@example.com' });
  });

  it('caches an unknown person for 30 seconds or until an identity is created', async () => {
    const mirror = startReplica();
    const email = `${randomUUID()}@example.com`;
    const resolve = () => mirror.resolveForAssignment({ email }, 'assignee_email');
    const refusal = {
      status: 422,
      code: 'unknown_identity',
      errors: [{ field: 'assignee_email', message: 'names no identity' }],
    };
    await expect(resolve()).rejects.toMatchObject(refusal);
    await expect(resolve()).rejects.toMatchObject(refusal);
    expect(stub.seen).toHaveLength(1);
    const identity = wireIdentity({ email });
    await mirror.upsertFromWrite({ identity, askedAt: new Date(), answeredAt: new Date() });
    expect(await resolve()).toMatchObject({ id: identity.id });
  });

  it('sends one request for fifty concurrent look-ups of the same person', async () => {
    const mirror = startReplica();
    const identity = wireIdentity({ email: `${randomUUID()}@example.com` });
    stub.answer = (request, response) => setTimeout(() => json(200, identity)(request, response), 50);
    const resolve = () => mirror.resolveForAssignment({ email: identity.email }, 'x');
    const people = await Promise.all(Array.from({ length: 50 }, resolve));
    expect(people).toEqual(Array(50).fill({ id: identity.id, username: identity.username }));
    expect(stub.seen).toHaveLength(1);
  });

  it('does not cache as unknown a person created during the look-up', async () => {
    const mirror = startReplica();
    const identity = wireIdentity({ email: `${randomUUID()}@example.com` });
    stub.answer = (request, response) =>
      setTimeout(() => json(404, { code: 'identity_not_found' })(request, response), 100);
    const reference = { email: identity.email };
    const early = expect(mirror.resolveForAssignment(reference, 'x')).rejects.toMatchObject({ status: 422 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await mirror.upsertFromWrite({ identity, askedAt: new Date(), answeredAt: new Date() });
    await early;
    expect(await mirror.resolveForAssignment(reference, 'x')).toMatchObject({ id: identity.id });
  });

  it('does not overwrite a change with a look-up that began before it', async () => {
    const mirror = startReplica();
    const identity = wireIdentity({ updated_at: at(-900).toISOString() });
    stub.answer = (request, response) => setTimeout(() => json(200, identity)(request, response), 200);
    const early = mirror.refresh(identity.id);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const change: Omit<Lookup, 'identity'> = { askedAt: new Date(), answeredAt: new Date() };
    const changed = { ...identity, is_active: false, updated_at: new Date().toISOString() };
    await mirror.upsertFromWrite({ identity: changed, ...change });
    // Joins the pending look-up after the change.
    const late = mirror.refresh(identity.id);
    await Promise.all([early, late]);
    expect(stub.seen).toHaveLength(1);
    expect(await repository.find(identity.id)).toMatchObject({ isActive: false });
  });
});

describe('the backfill', () => {
  const people = new Map<string, Identity>();
  const longAgo = at(-86_400).toISOString();
  const add = (number: number, overrides: Partial<Identity> = {}) => {
    const id = `01980c5e-0000-7000-8000-${String(number).padStart(12, '0')}`;
    const times = { created_at: longAgo, updated_at: longAgo };
    people.set(
      id,
      wireIdentity({ id, username: `p${number}`, email: `p${number}@x.example`, ...times, ...overrides }),
    );
    return id;
  };
  const change = (id: string, changes: Partial<Identity>) =>
    people.set(id, {
      ...wireIdentity(),
      ...people.get(id),
      updated_at: new Date().toISOString(),
      ...changes,
    });
  const byId = () => [...people.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  const mirrored = async () =>
    app.sql(
      `SELECT id, username, display_name, email, is_active, is_staff FROM identity_mirror
        WHERE id = ANY($1::uuid[]) ORDER BY id`,
      [[...people.keys()]],
    );
  const inIdentity = () =>
    byId().map(({ id, username, display_name, email, is_active, is_staff }) => ({
      ...{ id, username, display_name, email, is_active, is_staff },
    }));
  const lists = () => stub.seen.filter(({ url }) => url.includes('?limit='));
  let failures: number;
  beforeEach(async () => {
    stub.seen.length = 0;
    failures = 0;
    stub.answer = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', stub.url);
      const id = pathname.split('/')[3];
      if (id !== undefined) {
        const identity = people.get(id);
        json(identity ? 200 : 404, identity ?? { code: 'identity_not_found' })(request, response);
        return;
      }
      if (failures > 0 && searchParams.has('after')) {
        failures -= 1;
        json(500, {})(request, response);
        return;
      }
      const after = searchParams.get('after') ?? '';
      const page = byId()
        .filter((identity) => identity.id > after)
        .slice(0, 200);
      json(200, page)(request, response);
    };
    await app.sql('UPDATE mirror_backfill SET next_attempt_at = now()');
  });
  const beginPass = () => app.sql("UPDATE mirror_backfill SET pass_started_at = now() - interval '7 hours'");

  it('copies all identities once for two replicas, and continues where a failed one ended', async () => {
    for (let number = 1; number <= 450; number += 1) add(number);
    const [one, other] = [startPeople().backfill, startPeople().backfill];
    failures = 1;
    stub.peak = 0;
    const outcomes = await Promise.allSettled([one.run(), other.run()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await mirrored()).toHaveLength(200);
    stub.seen.length = 0;
    expect(await other.run()).toBe(250);
    expect(await one.run()).toBe(0);
    expect(lists()[0]?.url).toContain('after=01980c5e-0000-7000-8000-000000000200');
    expect(lists()).toHaveLength(4);
    expect(await mirrored()).toEqual(inIdentity());
    expect(stub.peak).toBe(1);
  });

  it('finds a new identity by one request, also one whose creation was committed late', async () => {
    const { backfill } = startPeople();
    const fresh = { created_at: new Date().toISOString(), updated_at: new Date().toISOString() };
    add(502, fresh);
    expect(await backfill.run()).toBe(1);
    add(501, fresh);
    await app.sql('UPDATE mirror_backfill SET next_attempt_at = now()');
    stub.seen.length = 0;
    expect(await backfill.run()).toBe(2);
    expect(lists()).toHaveLength(2);
    expect(await mirrored()).toEqual(expect.arrayContaining(inIdentity()));
  });

  it('finds each change in a further pass, without a write to other rows', async () => {
    const versions = async () =>
      new Map(
        (await app.sql<{ id: string; xmin: string }>('SELECT id, xmin::text FROM identity_mirror')).map(
          ({ id, xmin }) => [id, xmin],
        ),
      );
    const [renamed, inactive, gone, staff] = [add(7), add(8), add(9), add(250)];
    // A row that was confirmed within a minute may be newer than the list.
    await app.sql("UPDATE identity_mirror SET checked_at = checked_at - interval '1 hour'");
    const before = await versions();
    change(renamed, { display_name: 'Seven', email: 'seven@x.example' });
    change(inactive, { is_active: false });
    change(staff, { is_staff: true });
    people.delete(gone);
    await beginPass();
    expect(await startPeople().backfill.run()).toBe(people.size);
    expect(await mirrored()).toEqual(inIdentity());
    expect(await repository.find(gone)).toMatchObject({ isActive: false, missingSince: expect.any(Date) });
    const after = await versions();
    const written = [...people.keys()].filter((id) => before.get(id) !== after.get(id));
    expect(written.sort()).toEqual([renamed, inactive, staff].sort());
    const text = await app.dependencies.metrics.registry.metrics();
    expect(text).toMatch(/issues_mirror_age_seconds\{service="issues"\} [0-9.]+/);
  });
});
