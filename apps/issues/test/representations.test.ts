import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issuePriorities, issueStatuses, type Label } from '@tessera/contracts';
import { fuzzSettings } from '@tessera/testing/fuzz';
import { rememberSecret } from '@tessera/testing/leaks';
import fc from 'fast-check';
import type { Response } from 'supertest';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { filePath, uploadFile } from './support/files.ts';
import { createIssue, getIssue, issuePath, issuesPath, rowOf } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const numRuns = Number(process.env.REPRESENTATION_RUNS ?? 2);
const comparisonsMax = 5;
const { seed } = fuzzSettings(process.env);
const secret = rememberSecret('a-webhook-secret-of-the-tests');

interface World {
  /** Two instances of the service on one database. */
  apps: readonly [TestApp, TestApp];
  tracker: FakeTestTracker;
  /** The proxy between the service and the tracker. */
  proxy: ObservingProxy;
  /** A staff member who reports the issues. */
  ann: TestPerson;
  bob: TestPerson;
  environment: Record<string, string>;
}

interface Step {
  do: keyof typeof actions;
  /** The instance that receives the requests of the step. */
  on: 0 | 1;
  /** The instances that are read after the step. The cache of the other instance becomes older. */
  readers: readonly (0 | 1)[];
  choice: number;
}

/** Reads an issue through every operation and keeps the text of each ETag. */
class Reader {
  readonly #world: World;
  readonly #id: string;
  readonly #texts = new Map<string, string>();
  readonly #lists = new Map<string, string>();
  /** Failures of comparisons in a callback. */
  readonly #failures: unknown[] = [];

  constructor(world: World, id: string) {
    this.#world = world;
    this.#id = id;
  }

  /** Compares the response of every operation that reads the issue with a response that is not cached. */
  async compare(readers: readonly (0 | 1)[]): Promise<void> {
    const { apps, ann } = this.#world;
    const fresh = await this.#readFresh();
    const known = this.#texts.get(fresh.etag);
    if (known !== undefined) expect({ etag: fresh.etag, text: known }).toEqual(fresh);
    this.#texts.set(fresh.etag, fresh.text);
    for (const index of readers) {
      const client = ann.on(apps[index]);
      expect(representationIn(await client.get(issuePath({ id: this.#id })))).toEqual(fresh);
      const outdated = [...this.#texts].filter(([, text]) => text !== fresh.text).map(([etag]) => etag);
      const ifNoneMatch = (etags: string[]) =>
        client.get(issuePath({ id: this.#id })).set('If-None-Match', etags.join(', '));
      expect({ outdated, ...representationIn(await ifNoneMatch(outdated)) }).toEqual({ outdated, ...fresh });
      expect((await ifNoneMatch([...outdated, fresh.etag])).status).toBe(304);
      const { body, text, headers } = await client.get(`${issuesPath}?limit=20`).expect(200);
      const { etag = '' } = headers;
      expect({ etag, text: this.#lists.get(etag) ?? text }).toEqual({ etag, text });
      this.#lists.set(etag, text);
      const row = body.find(({ id }: Issue) => id === this.#id);
      expect(row).toEqual(rowOf(JSON.parse(fresh.text)));
    }
  }

  /** Compares at each request to the tracker. Between two requests, a sync performs at most one step. */
  async during(action: () => Promise<unknown>): Promise<void> {
    const { proxy } = this.#world;
    proxy.onRequest = () => this.#compareUnchanged().catch((error: unknown) => this.#failures.push(error));
    await action();
    proxy.onRequest = async () => undefined;
    await proxy.idle();
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Compares again if the issue has changed meanwhile: a background worker also reschedules syncs between requests. */
  async #compareUnchanged(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { etag } = await this.#readFresh();
      try {
        return await this.compare([0, 1]);
      } catch (error) {
        if (attempt === comparisonsMax || (await this.#readFresh()).etag === etag) throw error;
      }
    }
  }

  // Setting the current status changes nothing, and the response is never cached.
  async #readFresh() {
    const { ann } = this.#world;
    const [row] = await this.#world.apps[0].sql('SELECT status FROM issues WHERE id = $1', [this.#id]);
    return representationIn(await ann.post(issuePath({ id: this.#id }, 'status/'), { status: row?.status }));
  }
}

function representationIn({ status, text, headers }: Response) {
  expect(status).toBe(200);
  return { etag: headers.etag ?? '', text };
}

/** Forwards requests to the tracker, each after a callback. */
class ObservingProxy {
  onRequest: () => Promise<unknown> = async () => undefined;
  readonly #server = createServer();
  readonly #callbacks = new Set<Promise<unknown>>();
  #lastUsedAt = 0;

  async start(target: string): Promise<string> {
    const { hostname, port, pathname } = new URL(target);
    this.#server.on('request', async (request, response) => {
      const callback = this.onRequest();
      this.#callbacks.add(callback);
      await callback;
      this.#callbacks.delete(callback);
      this.#lastUsedAt = performance.now();
      const { method, url: path, headers } = request;
      const onward = send({ hostname, port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    });
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${pathname.replace(/\/$/, '')}`;
  }

  /** Resolves when no callback is running and no request has arrived for a moment. */
  async idle(): Promise<void> {
    while (this.#callbacks.size > 0 || performance.now() - this.#lastUsedAt < 100) await sleep(20);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

interface Call {
  world: World;
  issue: Issue;
  reader: Reader;
  /** Clients of the step's instance. */
  ann: TestPerson;
  bob: TestPerson;
  choice: number;
}

// The choices include invalid requests, which must change nothing.
const actions = {
  title: ({ ann, issue, choice }: Call) => ann.patch(issuePath(issue), { title: `Title ${choice}` }),
  description: ({ ann, issue, choice }: Call) =>
    ann.patch(issuePath(issue), { description: `Text ${choice} for @name-${choice % 4}` }),
  priority: ({ ann, issue, choice }: Call) =>
    ann.patch(issuePath(issue), { priority: issuePriorities[choice % 5] }),
  due: ({ ann, issue, choice }: Call) =>
    ann.patch(issuePath(issue), { due_on: [null, '2026-12-31', '2027-01-01'][choice % 3] }),
  assignee: ({ ann, bob, issue, choice }: Call) =>
    ann.patch(issuePath(issue), { assignee_id: [null, ann.id, bob.id][choice % 3] }),
  status: ({ ann, issue, choice }: Call) =>
    ann.post(issuePath(issue, 'status/'), {
      status: issueStatuses[choice % 5],
      ...(choice % 2 === 0 ? {} : { comment: `Moved ${choice}` }),
    }),
  comment: ({ ann, bob, issue, choice }: Call) =>
    (choice % 2 === 0 ? ann : bob).post(issuePath(issue, 'comments/'), {
      body: `Comment ${choice} for @name-${choice % 4}`,
    }),
  file: async ({ ann, issue, choice }: Call) => {
    const file = await uploadFile(ann, Buffer.from(`${choice}`), `${choice}.txt`);
    await ann.post(issuePath(issue, 'comments/'), { body: `See attachment:${file.id}` });
  },
  deleteFile: async ({ ann, issue }: Call) => {
    const { body } = await ann.get(issuePath(issue, 'attachments/'));
    if (body.length > 0) await ann.delete(filePath(body[0]));
  },
  commentOnce: ({ bob, issue, choice }: Call) =>
    bob
      .post(issuePath(issue, 'comments/'), { body: `Comment ${choice}` })
      .set('Idempotency-Key', `key-${choice}`),
  changeComment: async ({ ann, bob, issue, choice }: Call) => {
    const comment = await oneComment(ann, issue, choice);
    if (comment !== undefined)
      await (choice % 3 === 0 ? ann : bob).patch(comment, { body: `Changed @name-${choice % 4}` });
  },
  deleteComment: async ({ ann, bob, issue, choice }: Call) => {
    const comment = await oneComment(ann, issue, choice);
    if (comment !== undefined) await (choice % 3 === 0 ? ann : bob).delete(comment);
  },
  bulk: ({ ann, issue, choice }: Call) =>
    ann.post(`${issuesPath}bulk/`, {
      ids: [issue.id],
      ...[
        { priority: issuePriorities[choice % 5] },
        { status: issueStatuses[choice % 5] },
        { labels: { add: ['Bug'], remove: ['UI'] } },
        { assignee_id: ann.id },
        { due_on: '2026-12-30' },
      ][choice % 5],
    }),
  putLink: ({ ann, issue, choice }: Call) =>
    ann.post(issuePath(issue, 'links/'), {
      type: 'invoice',
      ref: `${choice % 3}`,
      title: `Invoice ${choice}`,
      metadata: { longer: choice, b: 1 },
    }),
  deleteLink: async ({ ann, issue, choice }: Call) => {
    const { links } = await getIssue(ann, issue);
    const link = links[choice % Math.max(links.length, 1)];
    if (link !== undefined) await ann.delete(issuePath(issue, `links/${link.id}/`));
  },
  replaceLinks: ({ ann, bob, issue, choice }: Call) =>
    ann.put(issuePath(issue), {
      links: [
        { type: 'user', ref: bob.id },
        { type: 'entity', ref: `${choice}` },
      ],
    }),

  labels: ({ ann, issue, choice }: Call) =>
    ann.patch(issuePath(issue), { labels: [['Bug'], ['bug', 'UI'], [], ['UI', 'none']][choice % 4] }),
  createLabel: async ({ ann, choice }: Call) => {
    await ann.post(labelsPath, { name: choice % 2 === 0 ? 'Bug' : 'UI' });
  },
  changeLabel: async ({ ann, choice }: Call) => {
    const label = await oneLabel(ann, choice);
    if (label === undefined) return;
    const names = { name: ['Bug', 'BUG', 'UI', 'Web'][choice % 4] };
    await ann.patch(`${labelsPath}${label.id}/`, choice % 3 === 0 ? { color: `#0000${choice + 10}` } : names);
  },
  deleteLabel: async ({ ann, choice }: Call) => {
    const label = await oneLabel(ann, choice);
    if (label !== undefined && choice % 2 === 0) await ann.delete(`${labelsPath}${label.id}/`);
  },

  rename: ({ world: { apps }, ann, bob, choice }: Call) =>
    apps[0].sql('UPDATE identity_mirror SET username = $1 WHERE id = $2', [
      `name-${choice % 4}`,
      choice % 2 === 0 ? ann.id : bob.id,
    ]),
  forget: ({ world: { apps }, bob }: Call) =>
    apps[0].sql('DELETE FROM identity_mirror WHERE id = $1', [bob.id]),
  meet: ({ bob }: Call) => bob.get('/api/v1/users/me/'),

  remoteTitle: ({ world, issue, choice }: Call) => editRemote(world, issue, { title: `Remote ${choice}` }),
  remoteText: ({ world, issue, choice }: Call) => editRemote(world, issue, { text: `Remote ${choice}` }),
  remoteState: ({ world, issue, choice }: Call) =>
    editRemote(world, issue, { state: choice % 2 === 0 ? 'open' : 'closed' }),
  remoteLabels: async ({ world, issue, choice }: Call) => {
    const remote = await remoteOf(world, issue);
    if (remote !== undefined)
      world.tracker.labels?.set(remote, [['Bug'], ['bug', 'Theirs'], []][choice % 3] ?? []);
  },
  remoteComment: async ({ world, issue, choice }: Call) => {
    const remote = await remoteOf(world, issue);
    if (remote !== undefined) await world.tracker.comment(remote, `Remote ${choice}`);
  },

  sync: ({ ann, issue, reader }: Call) => reader.during(() => ann.post(issuePath(issue, 'sync/'))),
  failingSync: async ({ world: { tracker }, ann, issue, reader, choice }: Call) => {
    const kinds = ['status', 'reset_after', 'silent_drop'] as const;
    const method = ['GET', 'POST', 'PATCH'][choice % 3] ?? 'GET';
    const status = [500, 422, 401][choice % 3] ?? 500;
    tracker.fake.fail({
      kind: kinds[choice % 2] ?? 'status',
      status,
      on: { method },
      times: 1 + (choice % 4),
    });
    await reader.during(() => ann.post(issuePath(issue, 'sync/')));
    tracker.fake.clearFaults();
  },
  webhook: async ({ world, ann, issue }: Call) => {
    const number = Number(await remoteOf(world, issue));
    const body = JSON.stringify({
      action: 'edited',
      issue: { number },
      repository: { full_name: world.tracker.project },
    });
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    const [app] = world.apps;
    await app.http
      .post('/api/v1/integrations/gitea/webhook/')
      .set({
        'Content-Type': 'application/json',
        'X-Gitea-Signature': signature,
        'X-Gitea-Delivery': randomUUID(),
      })
      .send(body);
    await getIssue(ann, issue);
  },
  schedule: async ({ world }: Call) => {
    const background = await startBackground(world, { SYNC_AUTO: 'all', SYNC_WORKERS: '0' });
    await background.close();
  },
  syncInBackground: async ({ world, reader }: Call) => {
    let background: TestApp | undefined;
    try {
      await reader.during(async () => {
        background = await startBackground(world, { SYNC_AUTO: 'linked', SYNC_WORKERS: '1' });
        await world.proxy.idle();
      });
    } finally {
      await background?.close();
    }
  },
  resolve: async ({ ann, issue, choice }: Call) => {
    const { sync } = await getIssue(ann, issue);
    const [conflict] = sync.conflicts;
    if (conflict === undefined) return;
    await ann.post(issuePath(issue, `sync/conflicts/${conflict.id}/`), {
      keep: choice % 2 === 0 ? 'local' : 'remote',
    });
  },
  detach: ({ ann, issue }: Call) => ann.delete(issuePath(issue, 'external/')),
  attach: async ({ world, ann, issue, choice }: Call) => {
    const remotes = await world.tracker.issues();
    const remote = remotes[choice % Math.max(remotes.length, 1)];
    if (remote !== undefined) await ann.put(issuePath(issue, 'external/'), { id: remote.id });
  },
  removeRemote: async ({ world, issue }: Call) => {
    const remote = await remoteOf(world, issue);
    if (remote !== undefined) await world.tracker.remove(remote);
  },
} satisfies Record<string, (call: Call) => PromiseLike<unknown>>;

// Returns the path of one of the issue's comments.
async function oneComment(person: TestPerson, issue: Issue, choice: number): Promise<string | undefined> {
  const { comments } = await getIssue(person, issue);
  const comment = comments[choice % Math.max(comments.length, 1)];
  return comment && issuePath(issue, `comments/${comment.id}/`);
}

const labelsPath = '/api/v1/labels/';

async function oneLabel(person: TestPerson, choice: number): Promise<Label | undefined> {
  const { body } = await person.get(labelsPath).expect(200);
  return body[choice % Math.max(body.length, 1)];
}

// Returns the id in the tracker; undefined if the remote issue was deleted.
async function remoteOf({ ann, tracker }: World, issue: Issue): Promise<string | undefined> {
  const { external } = await getIssue(ann, issue);
  return (await tracker.issues()).find(({ id }) => id === external?.id)?.id;
}

async function editRemote(world: World, issue: Issue, edit: Parameters<FakeTestTracker['edit']>[1]) {
  const remote = await remoteOf(world, issue);
  if (remote !== undefined) await world.tracker.edit(remote, edit);
}

// Starts an instance that polls for due syncs, and waits for at least one poll.
async function startBackground({ apps: [app], environment }: World, more: Record<string, string>) {
  const background = await startTestApp({ ...environment, SYNC_POLL_MS: '100', ...more }, app);
  await sleep(200);
  return background;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    do: fc.constantFrom(...(Object.keys(actions) as (keyof typeof actions)[]), 'sync', 'sync'),
    on: fc.constantFrom(0, 1),
    readers: fc.constantFrom([0], [1], [0, 1]),
    choice: fc.nat({ max: 59 }),
  }),
  { minLength: 4, maxLength: 12 },
);

describe('representations of an issue on two instances', () => {
  let world: World;
  beforeAll(async () => {
    const tracker = await startFakeTracker('gitea');
    const proxy = new ObservingProxy();
    const url = await proxy.start(tracker.url);
    const environment = trackerEnvironment(
      { ...tracker, url },
      {
        TRACKER_WEBHOOK_SECRET: secret,
        TRACKER_BREAK_MS: '100',
        // The feed of identity would take back `rename` and `forget` at a random time.
        MIRROR_INTERVAL_SECONDS: '0',
        // The callbacks take longer than a tracker's response.
        TRACKER_DEADLINE_MS: '60000',
      },
    );
    const first = await startTestApp(environment);
    const second = await startTestApp(environment, first);
    const [ann, bob] = [await aPerson(first, { is_staff: true }), await aPerson(first)];
    await bob.get('/api/v1/users/me/').expect(200);
    world = { apps: [first, second], tracker, proxy, ann, bob, environment };
  });
  afterAll(async () => {
    await Promise.all(world.apps.map((app) => app.close()));
    await world.proxy.stop();
    await world.tracker.close();
  });

  it('are current after every write, and never share an ETag if they differ', async () => {
    const property = fc.asyncProperty(steps, async (taken) => {
      const { apps, ann, bob } = world;
      await ann.post(labelsPath, { name: 'Bug' });
      const issue = await createIssue(ann, { assignee_id: bob.id });
      const reader = new Reader(world, issue.id);
      await reader.compare([0, 1]);
      for (const { do: name, on, readers, choice } of taken) {
        const call = { world, issue, reader, ann: ann.on(apps[on]), bob: bob.on(apps[on]), choice };
        await actions[name](call);
        await reader.compare(readers);
      }
      await reader.compare([0, 1]);
      const cold = await startTestApp(world.environment, apps[0]);
      const read = (app: TestApp) => ann.on(app).get(issuePath(issue));
      expect(representationIn(await read(cold))).toEqual(representationIn(await read(apps[0])));
      await cold.close();
      // Later runs must not sync this issue in the background.
      await apps[0].sql('UPDATE tracker_links SET next_attempt_at = NULL');
      await apps[0].sql(`UPDATE issues SET updated_at = now() - interval '2 days'`);
    });
    // Shorter counterexamples would take minutes. The seed repeats the run.
    await fc.assert(property, { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed }) });
  }, 600_000);
});
