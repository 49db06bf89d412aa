import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issueSchema } from '@tessera/contracts';
import { type FullApp, startFullApp } from './support/full-app.ts';
import { IdentityService } from './support/identity-service.ts';
import { signedIn } from './support/signed-in.ts';
import { type StandInSide, startStandInSide } from './support/stand-in-side.ts';
import { trackerEnvironment } from './support/synced-app.ts';

let identity: IdentityService;
let far: StandInSide;
const apps: FullApp[] = [];
beforeAll(async () => {
  identity = await IdentityService.start();
  far = await startStandInSide('gitea');
});
afterEach(async () => {
  far.standIn.clearFaults();
  await Promise.all(apps.splice(0).map((app) => app.close()));
});
afterAll(async () => {
  await Promise.all([identity.down(), far.close()]);
});

async function start(overrides: Record<string, string> = {}, databaseUrl?: string) {
  const app = await startFullApp(
    {
      IDENTITY_URL: identity.url,
      JWT_ISSUER: identity.url,
      SYNC_POLL_MS: '100',
      ...trackerEnvironment(far, overrides),
    },
    databaseUrl,
  );
  apps.push(app);
  return app;
}

type Person = Awaited<ReturnType<typeof signedIn>>;

const create = async (ann: Person, title: string): Promise<Issue> =>
  (await ann.as('post', '/issues/').send({ title }).expect(201)).body;
const read = async (ann: Person, { id }: { id: string }): Promise<Issue> =>
  issueSchema.parse((await ann.as('get', `/issues/${id}/`).expect(200)).body);
const marked = (issue: Issue) =>
  far.standIn.issues().filter(({ body }) => body.includes(`issues-sync:${issue.id}`));

async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  for (let turn = 0; ; turn += 1) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (turn > 200) throw new Error(`it never came: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What was put off is due now: a test cannot wait for half a minute. */
const bringForward = (app: FullApp) =>
  app.sql('UPDATE tracker_links SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL');

describe('a sync that failed', () => {
  it('is tried again by itself, and its issue tells how it stands', async () => {
    const app = await start();
    const ann = await signedIn(app, identity);
    const issue = await create(ann, 'Retried');
    far.standIn.fail({ kind: 'status', status: 500, times: Number.POSITIVE_INFINITY });
    const { body } = await ann.as('post', `/issues/${issue.id}/sync/`).expect(502);
    expect(body).toMatchObject({ code: 'tracker_unavailable', retry_scheduled: true });
    const failed = await read(ann, issue);
    expect(failed.sync).toMatchObject({ state: 'retrying', next_attempt_at: body.next_attempt_at });
    await bringForward(app);
    await until(
      () => read(ann, issue),
      ({ sync }) => sync.next_attempt_at !== null && sync.next_attempt_at > body.next_attempt_at,
    );
    far.standIn.clearFaults();
    const synced = await until(
      async () => {
        await bringForward(app);
        return read(ann, issue);
      },
      ({ sync }) => sync.state === 'synced',
    );
    expect(synced.sync).toMatchObject({ last_error: null, next_attempt_at: null });
    expect(marked(issue)).toHaveLength(1);
  });

  it('is given up after twelve times, until somebody asks again', async () => {
    const app = await start({ SYNC_WORKERS: '0' });
    const ann = await signedIn(app, identity);
    const issue = await create(ann, 'Hopeless');
    far.standIn.fail({ kind: 'reset_before', times: Number.POSITIVE_INFINITY });
    await app.sql(
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by, failures) VALUES ($1, 'gitea', $2, $3, 11)`,
      [issue.id, far.project, ann.id],
    );
    const { body } = await ann.as('post', `/issues/${issue.id}/sync/`).expect(502);
    expect(body).toMatchObject({ retry_scheduled: false, next_attempt_at: null });
    expect((await read(ann, issue)).sync.state).toBe('failed');
    const again = await ann.as('post', `/issues/${issue.id}/sync/`);
    expect(again.body).toMatchObject({ retry_scheduled: true });
  });

  it('whose process died is taken up by another one', async () => {
    const app = await start();
    const ann = await signedIn(app, identity);
    const issue = await create(ann, 'Orphan');
    await app.sql(
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by, claim_id, claim_until)
       VALUES ($1, 'gitea', $2, $3, gen_random_uuid(), now() - interval '1 second')`,
      [issue.id, far.project, ann.id],
    );
    await until(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    expect(marked(issue)).toHaveLength(1);
  });

  it('because of our credentials is not tried again, and readiness names it while the service goes on', async () => {
    const app = await start();
    const ann = await signedIn(app, identity);
    const issue = await create(ann, 'Refused');
    far.standIn.fail({ kind: 'status', status: 401, body: { message: 'token is required' } });
    const { body } = await ann.as('post', `/issues/${issue.id}/sync/`).expect(502);
    expect(body).toMatchObject({ code: 'tracker_auth_failed', retry_scheduled: false });
    const ready = await app.http.get('/readyz').expect(200);
    expect(ready.body).toMatchObject({ status: 'ready', warnings: ['tracker_credentials'] });
    await ann.as('post', `/issues/${issue.id}/sync/`).expect(200);
    expect((await app.http.get('/readyz').expect(200)).body.warnings).toBeUndefined();
    const scraped = await app.dependencies.metrics.registry.metrics();
    expect(scraped).toContain('issues_syncs_total{outcome="tracker_auth_failed",service="issues"} 1');
    expect(scraped).toContain('issues_syncs_total{outcome="synced",service="issues"} 1');
  });
});

describe('a number that the tracker gives again', () => {
  it('belongs to the new issue, and the former one is told that its counterpart is gone', async () => {
    const app = await start({ SYNC_WORKERS: '0' });
    const ann = await signedIn(app, identity);
    const former = await create(ann, 'Former');
    const issue = await create(ann, 'New');
    await app.sql(
      `INSERT INTO tracker_links (issue_id, provider, project, requested_by, remote_id, remote_key, remote_url)
       SELECT $1, 'gitea', $2, $3, n::text, '#' || n, 'https://git.example/' || n FROM generate_series($4::int, $4::int) n`,
      [former.id, far.project, ann.id, Math.max(0, ...far.standIn.issues().map(({ number }) => number)) + 1],
    );
    const { body } = await ann.as('post', `/issues/${issue.id}/sync/`).expect(200);
    expect(body.sync.state).toBe('synced');
    expect(await read(ann, former)).toMatchObject({
      external: null,
      sync: { state: 'failed', last_error: 'remote_gone' },
    });
  });
});

describe('a sync that breaks off for a fault of ours', () => {
  it('shows in the issue, and is tried again with patience', async () => {
    const app = await start({ SYNC_WORKERS: '0' });
    const ann = await signedIn(app, identity);
    const issue = await create(ann, 'Broken');
    await app.sql('ALTER TABLE tracker_comments RENAME TO tracker_comments_away');
    await ann.as('post', `/issues/${issue.id}/sync/`).expect(500);
    await app.sql('ALTER TABLE tracker_comments_away RENAME TO tracker_comments');
    const { sync } = await read(ann, issue);
    expect(sync).toMatchObject({ state: 'retrying', last_error: 'sync_failed' });
    await ann.as('post', `/issues/${issue.id}/sync/`).expect(200);
    expect(marked(issue)).toHaveLength(1);
  });
});

describe('a service that stops', () => {
  it('gives its claim back, and another one goes on at once', async () => {
    const first = await start({ SYNC_WORKERS: '0' });
    const ann = await signedIn(first, identity);
    const issue = await create(ann, 'Handed over');
    const before = far.standIn.requests.length;
    far.standIn.fail({ kind: 'latency', ms: 3_000, on: { method: 'POST' } });
    const answer = ann.as('post', `/issues/${issue.id}/sync/`).then((response) => response);
    await until(
      async () => far.standIn.requests.slice(before).some(({ method }) => method === 'POST'),
      Boolean,
    );
    apps.splice(apps.indexOf(first), 1);
    const [response] = await Promise.all([answer, first.close()]);
    expect(response.body).toMatchObject({ status: 504, code: 'tracker_timeout' });
    const second = await start({}, first.databaseUrl);
    await until(
      async () => {
        await bringForward(second);
        return read({ ...ann, as: (method, path) => ann.as(method, path, second) }, issue);
      },
      ({ sync }) => sync.state === 'synced',
    );
    expect(marked(issue)).toHaveLength(1);
  });
});

describe('SYNC_AUTO', () => {
  it('tries what the tracker refused again, once it is another text', async () => {
    const app = await start({ SYNC_AUTO: 'linked' });
    const ann = await signedIn(app, identity);
    const issue = await create(ann, 'Fine');
    await ann.as('post', `/issues/${issue.id}/sync/`).expect(200);
    far.standIn.fail({
      kind: 'status',
      status: 422,
      body: { message: 'no such title' },
      on: { method: 'PATCH' },
    });
    await ann.as('put', `/issues/${issue.id}/`).send({ title: 'Refused' }).expect(200);
    await until(
      () => read(ann, issue),
      ({ sync }) => sync.last_error === 'tracker_rejected',
    );
    await ann.as('put', `/issues/${issue.id}/`).send({ title: 'Accepted' }).expect(200);
    await until(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    expect(marked(issue)).toMatchObject([{ title: 'Accepted' }]);
  });

  it('linked: sends changes of issues that are in the tracker, and creates none', async () => {
    const app = await start({ SYNC_AUTO: 'linked' });
    const ann = await signedIn(app, identity);
    const unlinked = await create(ann, 'Stays here');
    const issue = await create(ann, 'Linked');
    await ann.as('post', `/issues/${issue.id}/sync/`).expect(200);
    await ann.as('put', `/issues/${issue.id}/`).send({ title: 'Renamed' }).expect(200);
    await ann.as('post', `/issues/${issue.id}/comments/`).send({ body: 'A word' }).expect(201);
    const there = async () => marked(issue);
    await until(there, ([one]) => one?.title === 'Renamed' && one.comments.length === 1);
    await until(
      () => read(ann, issue),
      ({ sync }) => sync.state === 'synced',
    );
    const { rev } = (await app.sql('SELECT rev FROM issues WHERE id = $1', [issue.id]))[0];
    await new Promise((resolve) => setTimeout(resolve, 500));
    // A sync is no change that would be synced: it comes to rest.
    expect(await app.sql('SELECT rev FROM issues WHERE id = $1', [issue.id])).toEqual([{ rev }]);
    expect(marked(unlinked)).toEqual([]);
  });

  it('all: creates new issues there too, once, with two services looking', async () => {
    const app = await start({ SYNC_AUTO: 'all' });
    await start({ SYNC_AUTO: 'all' }, app.databaseUrl);
    const ann = await signedIn(app, identity);
    const issues = await Promise.all(Array.from({ length: 20 }, (_, index) => create(ann, `New ${index}`)));
    for (const issue of issues) {
      await until(
        () => read(ann, issue),
        ({ sync }) => sync.state === 'synced',
      );
      expect(marked(issue)).toHaveLength(1);
    }
  });
});
