import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { v7 as uuidv7 } from 'uuid';
import { Leases } from '../src/background/leases.ts';
import type { Database } from '../src/database.ts';
import { MirrorBackfillRepository } from '../src/identity-mirror/mirror-backfill.repository.ts';
import { ImportRepository } from '../src/tracker-sync/import.repository.ts';
import { SyncLeaseRepository } from '../src/tracker-sync/sync-lease.repository.ts';
import { SyncQueueRepository } from '../src/tracker-sync/sync-queue.repository.ts';
import { WebhookDeliveryRepository } from '../src/webhooks/webhook-delivery.repository.ts';
import { createIssue } from './support/issues.ts';
import { aPerson } from './support/people.ts';
import { startTestApp } from './support/test-app.ts';
import { openTestDatabase, type TestDatabase } from './support/test-database.ts';

const tracker = { provider: 'gitea' as const, project: 'one/two', fingerprint: 'x' };
const attempt = {
  startedAt: new Date(),
  durationMs: 1,
  status: 200,
  error: null,
  answer: '',
  retryAfterSeconds: undefined,
};
const result = { created: false, pushed: [], pulled: [], comments_pushed: 0, comments_pulled: 0 };

let database: TestDatabase;
let issueId: string;
let personId: string;

beforeAll(async () => {
  const app = await startTestApp();
  const ann = await aPerson(app);
  personId = ann.id;
  issueId = (await createIssue(ann)).id;
  await app.close();
  database = openTestDatabase(app.databaseUrl);
  await database.sql(
    `INSERT INTO webhook_endpoints (id, url, secret, created_by) VALUES ($1, 'http://127.0.0.1:9/', 'x', $2)`,
    [uuidv7(), personId],
  );
});
afterAll(() => database.close());

/** What happens to the next statements: they run or not, and their answers are lost. */
type Fault = 'does not run' | 'loses its answer';

/** A client of the database whose next statements fail as in a failover. */
function failing(faults: Fault[]): Database {
  const send =
    (method: '$queryRaw' | '$executeRaw') =>
    async (query: never, ...values: unknown[]) => {
      const fault = faults.shift();
      const answer = fault === 'does not run' ? undefined : await database.database[method](query, ...values);
      if (fault === undefined) return answer;
      throw new Error('Connection terminated unexpectedly');
    };
  return { $queryRaw: send('$queryRaw'), $executeRaw: send('$executeRaw') } as unknown as Database;
}

interface Queue {
  table: string;
  /** Makes a job due, whose lease no process has. */
  prepare: () => Promise<unknown>;
  /** Takes the lease of the job, and returns the statements that end it. */
  lease: (client: Database) => Promise<Record<string, () => Promise<unknown>> | undefined>;
}

const queues: Record<string, Queue> = {
  webhooks: {
    table: 'webhook_deliveries',
    prepare: async () => {
      await database.sql('DELETE FROM webhook_deliveries');
      await database.sql(
        `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, subject_id, data, event_at)
         SELECT id, 1, 'issue.created', gen_random_uuid(), '{}', now() FROM webhook_endpoints`,
      );
    },
    lease: async (client) => {
      const repository = new WebhookDeliveryRepository(client, new Leases());
      const job = await repository.lease();
      return (
        job && {
          record: () => repository.record(job, attempt, undefined),
          release: () => repository.release(job),
        }
      );
    },
  },
  'requested syncs': {
    table: 'tracker_links',
    prepare: () => database.sql('DELETE FROM tracker_links'),
    lease: async (client) => {
      const repository = new SyncLeaseRepository(client, tracker, new Leases());
      const job = await repository.take(issueId, personId, 60_000);
      return (
        job && {
          finish: () => repository.finish(job, result, { activityId: 0, seenUntil: new Date() }),
          release: () => repository.release(job, { isDue: false }),
        }
      );
    },
  },
  'due syncs': {
    table: 'tracker_links',
    prepare: async () => {
      await database.sql('DELETE FROM tracker_links');
      await database.sql(
        `INSERT INTO tracker_links (issue_id, provider, project, requested_by, next_attempt_at) VALUES ($1, $2, $3, $4, now())`,
        [issueId, tracker.provider, tracker.project, personId],
      );
    },
    lease: async (client) => {
      const leases = new Leases();
      const job = await new SyncQueueRepository(client, tracker, leases).leaseDue(60_000);
      const retry = { firstDelaySeconds: 1, minSeconds: 0, isPostponed: false };
      return (
        job && {
          fail: () =>
            new SyncLeaseRepository(client, tracker, leases).fail(job, { code: 'x', movedTo: null, retry }),
        }
      );
    },
  },
  imports: {
    table: 'tracker_imports',
    prepare: async () => {
      await database.sql('DELETE FROM tracker_imports');
      await new ImportRepository(database.database, tracker, new Leases()).start(personId);
    },
    lease: async (client) => {
      const repository = new ImportRepository(client, tracker, new Leases());
      const job = await repository.lease(60_000);
      const retry = { firstDelaySeconds: 1, minSeconds: 0, isPostponed: false };
      return job && { release: () => repository.release(job), fail: () => repository.fail(job, 'x', retry) };
    },
  },
  'the backfill of the mirror': {
    table: 'mirror_backfill',
    prepare: () =>
      database.sql(
        `UPDATE mirror_backfill SET next_attempt_at = now() - interval '1 s', claim_id = NULL, claim_until = NULL,
           pass_started_at = now(), pass_finished_at = NULL`,
      ),
    lease: async (client) => {
      const repository = new MirrorBackfillRepository(client, new Leases());
      const job = await repository.lease(60, 60);
      return job && { release: () => repository.release(job), finish: () => repository.finish(job, 60) };
    },
  },
};

describe.each(Object.entries(queues))('the lease of %s', (_name, { table, prepare, lease }) => {
  const countLeases = async () =>
    (await database.sql(`SELECT FROM ${table} WHERE claim_id IS NOT NULL OR claim_until IS NOT NULL`)).length;

  it('ends although the answer of the database was lost', async () => {
    await prepare();
    await expect(lease(failing(['loses its answer', 'does not run']))).rejects.toThrow('terminated');
    await eventually(async () => (await countLeases()) === 0);
    expect(await lease(database.database)).toBeDefined();
  });

  it('ends although the database fails when it is ended', async () => {
    for (const faults of [
      ['does not run', 'does not run', 'loses its answer'],
      ['loses its answer'],
    ] satisfies Fault[][]) {
      await prepare();
      for (const end of Object.keys((await lease(database.database)) ?? {})) {
        await prepare();
        const pending: Fault[] = [];
        const ends = await lease(failing(pending));
        expect(await countLeases()).toBe(1);
        pending.push(...faults);
        await ends?.[end]?.();
        expect(await countLeases()).toBe(0);
      }
    }
  });
});

describe('a lease that cannot be ended', () => {
  const isDown = async () => {
    throw new Error('Connection terminated unexpectedly');
  };

  it('is given up when it has expired', async () => {
    const leases = new Leases();
    const id = await leases.take(1, { lease: async (given) => given, release: isDown });
    await eventually(() => leases.end(id ?? '', isDown).catch(() => true));
  });

  it('is given up when the process stops', async () => {
    const leases = new Leases();
    const id = await leases.take(3_600_000, { lease: async (given) => given, release: isDown });
    const ended = leases.end(id ?? '', isDown);
    const lost = leases.take(3_600_000, { lease: isDown, release: isDown });
    await expect(lost).rejects.toThrow('terminated');
    await leases.stop();
    await expect(ended).rejects.toThrow('terminated');
  });

  it('is not repeated for another error', async () => {
    const leases = new Leases();
    const id = await leases.take(3_600_000, { lease: async (given) => given, release: isDown });
    const runs: boolean[] = [];
    const fail = async (isRepeated: boolean) => {
      runs.push(isRepeated);
      throw new TypeError('a bug');
    };
    await expect(leases.end(id ?? '', fail)).rejects.toThrow('a bug');
    expect(runs).toEqual([false]);
  });
});
