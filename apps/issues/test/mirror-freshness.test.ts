import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { IdentityService } from './support/identity-service.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { MirroredService } from './support/mirrored-service.ts';
import { aPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';

// `MIRROR_CHANGES=1000 MIRROR_DEACTIVATIONS=50 MIRROR_KILLS=10` for a long run.
const changes = Number(process.env.MIRROR_CHANGES ?? 60);
const deactivations = Number(process.env.MIRROR_DEACTIVATIONS ?? 2);
const kills = Number(process.env.MIRROR_KILLS ?? 1);
const following = { MIRROR_INTERVAL_SECONDS: '30' };

// Both services as processes, over HTTP. Two replicas of issues follow identity's events by their timers.
describe('two replicas that follow the events of identity', () => {
  let identity: IdentityService;
  /** Arranges and reads rows; follows nothing. */
  let app: TestApp;
  let service: MirroredService;
  let replicas: IssuesService[];
  beforeAll(async () => {
    identity = await IdentityService.start();
    app = await startTestApp({}, { identity });
    service = new MirroredService(identity, app);
    replicas = await Promise.all([startIssuesService(app, following), startIssuesService(app, following)]);
  });
  afterAll(async () => {
    for (const replica of replicas) replica.kill();
    await Promise.all(replicas.map(({ ended }) => ended));
    await service.close();
    await app.close();
    await identity.stop();
  });

  /** Waits until all are equal, and returns the number of identities. */
  async function untilEqual(): Promise<number> {
    const { identities } = await eventually(
      () => service.compare(),
      (seen) => JSON.stringify(seen.mirror) === JSON.stringify(seen.identities) && seen.activeOfMissing === 0,
    );
    return identities.length;
  }

  it('have the state of identity after random changes, while they are killed and identity restarts', async () => {
    const made: Record<string, number> = {};
    const restartAt = new Set(
      Array.from({ length: kills }, (_, index) => Math.floor(((index + 0.5) * changes) / kills)),
    );
    for (let index = 0; index < changes; index += 1) {
      if (restartAt.has(index)) {
        const [killed] = replicas.splice(0, 1);
        killed?.kill();
        await killed?.ended;
        if (restartAt.size === 1 || index % 2 === 0) {
          await identity.down();
          await identity.up();
        }
        replicas.push(await startIssuesService(app, following));
      }
      const name = await service.changeAtRandom(index);
      made[name] = (made[name] ?? 0) + 1;
      // Spreads the changes over several reads of the feed.
      await sleep(20);
    }
    const startedAt = performance.now();
    const count = await untilEqual();
    expect(count).toBeGreaterThan(0);
    report({
      changes: made,
      identities: count,
      kills,
      equalAfterMs: Math.round(performance.now() - startedAt),
    });
  }, 600_000);

  it('refuse a person within 5 seconds after identity has deactivated it', async () => {
    const times: number[] = [];
    for (let round = 0; round < deactivations; round += 1) {
      const person = await aPerson(app);
      const path = '/api/v1/users/me/';
      const people = replicas.map((replica) => person.on(replica));
      for (const one of people) await one.get(path).expect(200);
      // At a random time of the interval and of the caches.
      await sleep(Math.random() * 1_000);
      for (const one of people) await one.get(path).expect(200);
      await identity.update(person.id, { is_active: false });
      const startedAt = performance.now();
      const waits = people.map(async (one) => {
        while ((await one.get(path)).status === 200) await sleep(20);
        await one.get(path).expect(401);
        return performance.now() - startedAt;
      });
      times.push(...(await Promise.all(waits)));
    }
    times.sort((one, two) => one - two);
    const [max = 0, median = 0] = [times.at(-1), times[Math.floor(times.length / 2)]];
    report({ deactivations, medianMs: Math.round(median), maxMs: Math.round(max) });
    expect(max).toBeLessThan(5_000);
  }, 600_000);
});

/** Prints the figures of a long run. */
function report(figures: object): void {
  if (process.env.MIRROR_CHANGES !== undefined) process.stderr.write(`${JSON.stringify(figures)}\n`);
}
