import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { IdentityClient } from '../src/identity-mirror/identity-client.ts';
import { MirrorFeedRepository } from '../src/identity-mirror/mirror-feed.repository.ts';
import { IdentityService } from './support/identity-service.ts';
import { MirroredService } from './support/mirrored-service.ts';
import { anEmail, password } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';

// The real identity service over HTTP. The feed and the backfill run when a test calls them.
describe("the mirror follows identity's events", () => {
  let identity: IdentityService;
  let app: TestApp;
  let other: TestApp;
  let service: MirroredService;
  beforeAll(async () => {
    identity = await IdentityService.start();
    app = await startTestApp({}, { identity });
    other = await startTestApp({}, app);
    service = new MirroredService(identity, app);
    await identity.create({ email: anEmail(), password });
  });
  afterAll(async () => {
    await service.close();
    await Promise.all([app.close(), other.close()]);
    await identity.stop();
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const letRead = () => app.sql('UPDATE mirror_feed SET next_read_at = now()');
  const readBy = async ({ dependencies }: TestApp) => {
    await service.settle();
    await letRead();
    await dependencies.feed.run();
  };
  const compareAll = () => app.dependencies.backfill.run();
  const cursor = async () => (await app.sql('SELECT cursor FROM mirror_feed'))[0]?.cursor;
  const expectEqual = async () => {
    const { identities, mirror, activeOfMissing } = await service.compare();
    expect(mirror).toEqual(identities);
    expect(activeOfMissing).toBe(0);
  };
  const highestEpoch = async () => (await app.sql('SELECT max(session_epoch) FROM session_ends'))[0]?.max;
  const gauge = async () =>
    /^issues_mirror_staleness_seconds\{.*\} (.+)$/m.exec(
      await app.dependencies.metrics.registry.metrics(),
    )?.[1];
  const logged = (text: string) => app.log.filter((line) => line.includes(text)).length;

  it('starts with all identities, and without changes made before they are read', async () => {
    expect(await gauge()).toBeUndefined();
    await readBy(app);
    await identity.create({ email: anEmail(), password });
    expect(await compareAll()).toBe(2);
    await expectEqual();
    expect(Number(await gauge())).toBeGreaterThanOrEqual(0);
    // The backfill does not look for new identities while the events are followed.
    await app.sql('UPDATE mirror_backfill SET next_attempt_at = now()');
    expect(await compareAll()).toBeUndefined();
  });

  it('sees a creation, every kind of change, and a deletion', async () => {
    const people = [];
    for (let index = 0; index < 5; index += 1)
      people.push(await identity.create({ email: anEmail(), password }));
    await readBy(app);
    await expectEqual();
    const [renamed, linked, inactive, flags, deleted] = people.map(({ id }) => id);
    await identity.update(`${renamed}`, { username: 'renamed', display_name: 'Zoë', email: anEmail() });
    await identity.update(`${linked}`, { sso_provider: 'google', sso_id: '17' });
    await identity.update(`${inactive}`, { is_active: false });
    await identity.update(`${flags}`, { is_verified: true, is_staff: true, is_superuser: true });
    await identity.delete(`${deleted}`);
    const lists = jest.spyOn(IdentityClient.prototype, 'findMany');
    await readBy(app);
    expect(lists).toHaveBeenCalledTimes(1);
    await expectEqual();
    await identity.update(`${inactive}`, { is_active: true });
    await identity.update(`${linked}`, { sso_provider: null, sso_id: null });
    await readBy(other);
    await expectEqual();
  });

  it('reads a page again if the process ends before it has stored the cursor', async () => {
    const { id } = await identity.create({ email: anEmail(), password });
    const before = await cursor();
    jest.spyOn(MirrorFeedRepository.prototype, 'advance').mockRejectedValueOnce(new Error('killed'));
    await expect(readBy(app)).rejects.toThrow('killed');
    await expectEqual();
    expect(await cursor()).toBe(before);
    await identity.update(id, { username: 'later' });
    await readBy(other);
    expect(await cursor()).not.toBe(before);
    await expectEqual();
  });

  it('is read by one of two replicas, and by the other one if that was killed', async () => {
    await identity.create({ email: anEmail(), password });
    await service.settle();
    await letRead();
    const reads = jest.spyOn(IdentityClient.prototype, 'readEvents');
    reads.mockImplementationOnce(() => new Promise(() => undefined));
    // The first one never ends, as if it was killed.
    void app.dependencies.feed.run();
    while (reads.mock.calls.length === 0) await new Promise(setImmediate);
    await other.dependencies.feed.run();
    expect(reads).toHaveBeenCalledTimes(1);
    await letRead();
    await Promise.all([other.dependencies.feed.run(), other.dependencies.feed.run()]);
    expect(reads).toHaveBeenCalledTimes(2);
    await expectEqual();
  });

  it('tells every replica which keys are deleted, also those that did not read the events', async () => {
    const kid = 'identity-key-1';
    const find = async ({ dependencies }: TestApp) => (await dependencies.keys.find(kid)) !== undefined;
    expect([await find(app), await find(other)]).toEqual([true, true]);
    const { readEvents } = IdentityClient.prototype;
    const reads = jest.spyOn(IdentityClient.prototype, 'readEvents');
    reads.mockImplementationOnce(async function (this: IdentityClient, from) {
      return { ...(await readEvents.call(this, from)), deletedKeys: [kid] };
    });
    await readBy(app);
    await app.sql("UPDATE mirror_feed SET next_read_at = now() + interval '1 day'");
    await other.dependencies.feed.run();
    expect([await find(app), await find(other)]).toEqual([false, false]);
    expect(reads).toHaveBeenCalledTimes(1);
    // A new folder of keys may begin with the same id.
    await readBy(other);
    await app.dependencies.feed.run();
    expect([await find(app), await find(other)]).toEqual([true, true]);
  });

  it('compares all identities after events were deleted, and loses no change made meanwhile', async () => {
    const [gone, changed] = [
      await identity.create({ email: anEmail(), password }),
      await identity.create({ email: anEmail(), password }),
    ];
    await identity.endSessions(changed.id);
    await readBy(app);
    expect(await highestEpoch()).toBe(1);
    await identity.delete(gone.id);
    await identity.update(changed.id, { username: 'during-the-gap' });
    await service.sql("UPDATE events SET at = now() - interval '8 days'");
    await service.sql('DELETE FROM events WHERE (tx, id) < (SELECT max(tx), max(id) FROM events)');
    // More identities than a page, which identity had before its database was restored.
    await app.sql(
      `INSERT INTO identity_mirror (id, email, username, is_active, is_verified, is_staff, is_superuser, as_of, source, checked_at)
       SELECT gen_random_uuid(), n || '@example.com', 'lost-' || n, true, true, false, false, now(), 'lookup', now()
         FROM generate_series(1, 450) n`,
    );
    await readBy(app);
    expect(logged('reading all identities')).toBe(2);
    // A restored database may have lower ones, and its new tokens are valid.
    expect(await highestEpoch()).toBe(0);
    await identity.update(changed.id, { display_name: 'After the reset' });
    await compareAll();
    await identity.update(changed.id, { is_staff: true });
    await readBy(app);
    await expectEqual();
  });

  it('begins the running pass again after a reset', async () => {
    await app.sql("UPDATE mirror_feed SET cursor = 'of another release'");
    await app.sql("UPDATE mirror_backfill SET pass_started_at = now() - interval '7 hours'");
    const { list } = IdentityClient.prototype;
    jest.spyOn(IdentityClient.prototype, 'list').mockImplementationOnce(async function (
      this: IdentityClient,
      page,
    ) {
      await readBy(other);
      return list.call(this, page);
    });
    await compareAll();
    const [pass] = await app.sql(
      'SELECT after, pass_finished_at >= pass_started_at AS finished FROM mirror_backfill',
    );
    expect(pass).toEqual({ after: null, finished: false });
    expect(await compareAll()).toBeGreaterThan(5);
    await expectEqual();
  });
});
