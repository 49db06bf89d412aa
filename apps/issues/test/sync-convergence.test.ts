import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, issuePriorities } from '@tessera/contracts';
import { fuzzSettings } from '@tessera/testing/fuzz';
import fc from 'fast-check';
import { canonicalText, canonicalTitle, markedComment } from '../src/trackers/tracker-text.ts';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { type Step, scripts, textOf } from './support/sync-script.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const policies = ['local', 'remote', 'newest', 'manual'] as const;
const providers = ['gitea', 'github', 'gitlab'] as const;
// One run has many syncs and takes as long as a hundred requests of the fuzzer.
const numRuns = Number(process.env.SYNC_CONVERGENCE_RUNS ?? 5);
const { seed } = fuzzSettings(process.env);
const labels = ['one', 'two', 'three'];
const reasons = ['completed', 'not_planned', 'duplicate'];

interface World {
  app: TestApp;
  tracker: FakeTestTracker;
  /** Staff can resolve conflicts. */
  staff: TestPerson;
}

/** An issue on both sides, and all texts that must not be lost. */
class Story {
  readonly #world: World;
  readonly #texts = new Set<string>();
  readonly #comments: string[] = [];
  /** The labels of each side, and the labels that both sides had at the last sync. */
  readonly #labels = { agreed: new Set<string>(), local: new Set<string>(), remote: new Set<string>() };
  #issue: Issue;

  constructor(world: World, issue: Issue) {
    this.#world = world;
    this.#issue = issue;
  }

  get #number(): number {
    return Number(this.#issue.external?.id);
  }

  get #remote() {
    const found = this.#world.tracker.fake.issues().find(({ number }) => number === this.#number);
    if (found === undefined) throw new Error('the tracker has no such issue');
    return found;
  }

  async sync(): Promise<Issue> {
    const { title, body } = this.#remote;
    for (const text of [title, body, ...this.#comments]) this.#texts.add(text);
    this.#mergeLabels();
    this.#issue = await syncIssue(this.#world.staff, this.#issue);
    return this.#issue;
  }

  async take(step: Step, number: number): Promise<void> {
    if (step.do === 'sync') await this.sync();
    else if (step.do === 'copy') await this.#copy(step.field);
    else if (step.do === 'priority') await this.#put({ priority: issuePriorities[step.choice % 5] });
    else if (step.do === 'status') await this.#move(step);
    else if (step.do === 'label') await this.#label(step);
    else if (step.side === 'local') await this.#editLocal(step.do, textOf(step, number));
    else await this.#editRemote(step.do, textOf(step, number));
  }

  async #label({ side, choice }: Step & { do: 'label' }): Promise<void> {
    const name = labels[choice % labels.length] ?? '';
    const names = this.#labels[side];
    if (!names.delete(name)) names.add(name);
    if (side === 'local') await this.#put({ labels: [...names] });
    else this.#world.tracker.fake.editIssue(this.#number, { labels: [...names] });
  }

  #mergeLabels(): void {
    const { agreed, local, remote } = this.#labels;
    const merged = labels.filter((name) =>
      agreed.has(name) ? local.has(name) && remote.has(name) : local.has(name) || remote.has(name),
    );
    for (const side of ['agreed', 'local', 'remote'] as const) this.#labels[side] = new Set(merged);
  }

  async #put(change: object): Promise<void> {
    await this.#world.staff.put(issuePath(this.#issue), change).expect(200);
  }

  async #copy(field: 'title' | 'description'): Promise<void> {
    const here = await getIssue(this.#world.staff, this.#issue);
    const edit = field === 'title' ? { title: here.title } : { text: here.description };
    await this.#world.tracker.edit(String(this.#number), edit);
  }

  async #move({ side, choice }: Step & { do: 'status' }): Promise<void> {
    if (side === 'remote') {
      const reason = reasons[choice % 4];
      const state = reason === undefined ? 'open' : 'closed';
      this.#world.tracker.fake.editIssue(this.#number, { state, stateReason: reason ?? 'reopened' });
      return;
    }
    const { allowed_transitions: ways } = await getIssue(this.#world.staff, this.#issue);
    const status = ways[choice % ways.length];
    await this.#world.staff.post(issuePath(this.#issue, 'status/'), { status }).expect(200);
  }

  async #editLocal(what: 'title' | 'description' | 'comment', text: string): Promise<void> {
    this.#texts.add(text);
    if (what !== 'comment') await this.#put({ [what]: text });
    else await this.#world.staff.post(issuePath(this.#issue, 'comments/'), { body: text }).expect(201);
  }

  async #editRemote(what: 'title' | 'description' | 'comment', text: string): Promise<void> {
    const { tracker } = this.#world;
    if (what === 'comment') {
      this.#comments.push(text);
      await tracker.comment(String(this.#number), text);
    } else await tracker.edit(String(this.#number), what === 'title' ? { title: text } : { text });
  }

  /** Resolves every open conflict. */
  async decide(): Promise<void> {
    for (const { id, reason } of undecided(this.#issue)) {
      const keep =
        reason === 'both_changed' && Number.parseInt(id.slice(-1), 16) % 2 === 0 ? 'remote' : 'local';
      await this.#world.staff.post(issuePath(this.#issue, `sync/conflicts/${id}/`), { keep }).expect(200);
    }
  }

  async expectEqualSides(): Promise<void> {
    const here = await getIssue(this.#world.staff, this.#issue);
    const there = this.#remote;
    const open = new Set<string>(undecided(here).map(({ field }) => field));
    const isDone = ['RESOLVED', 'CLOSED'].includes(here.status);
    const sidesOf = {
      title: [canonicalTitle(here.title), canonicalTitle(there.title)],
      description: [canonicalText(here.description), canonicalText(there.body)],
      status: [isDone ? 'closed' : 'open', there.state],
    };
    for (const [field, [ours, theirs]] of Object.entries(sidesOf)) {
      if (!open.has(field)) expect({ field, value: ours }).toEqual({ field, value: theirs });
    }
    const expected = [...this.#labels.agreed].sort();
    expect(here.labels.map(({ name }) => name).sort()).toEqual(expected);
    expect([...there.labels].sort()).toEqual(expected);
    const { username } = this.#world.staff;
    const own = here.comments.filter(({ origin }) => origin === 'local');
    const sent = there.comments.filter(({ author }) => author === this.#world.tracker.fake.botLogin);
    expect(sent.map(({ body }) => [markedComment(body), canonicalText(body)])).toEqual(
      own.map(({ id, body }) => [id, canonicalText(`${username} wrote:\n\n${body}`)]),
    );
    const foreign = here.comments.filter(({ origin }) => origin !== 'local');
    expect(foreign.map(({ body }) => body)).toEqual(this.#comments.map(canonicalText));
  }

  async expectNothingLost(): Promise<void> {
    const here = await getIssue(this.#world.staff, this.#issue);
    const { body: history } = await this.#world.staff
      .get(issuePath(this.#issue, 'activity/?limit=200'))
      .expect(200);
    const kept = [
      here.title,
      here.description,
      ...here.comments.map(({ body }) => body),
      ...here.sync.conflicts.flatMap(({ local, remote }) => [local, remote]),
      ...history.flatMap(({ old, new: value }: { old: unknown; new: unknown }) => [old, value]).map(String),
    ].flatMap((text) => [canonicalText(text), canonicalTitle(text)]);
    const lost = [...this.#texts].filter(
      (text) => !kept.includes(canonicalText(text)) && !kept.includes(canonicalTitle(text)),
    );
    expect(lost).toEqual([]);
  }
}

// Excludes `not_applied`, because GitHub cannot change the reason of a closed issue.
function undecided({ sync }: Issue) {
  return sync.conflicts.filter(
    ({ reason, kept }) => reason === 'not_storable' || (reason === 'both_changed' && kept === null),
  );
}

// Random edits with syncs in between. A failure prints the seed and the shortest failing script.
describe('two sides with random edits', () => {
  const worlds = new Map<string, World>();
  const sides: FakeTestTracker[] = [];
  beforeAll(async () => {
    let first: World | undefined;
    for (const provider of providers) {
      const tracker = await startFakeTracker(provider);
      sides.push(tracker);
      for (const policy of policies) {
        const app = await startTestApp(
          trackerEnvironment(tracker, { SYNC_CONFLICT_POLICY: policy }),
          first?.app,
        );
        const staff = first?.staff.on(app) ?? (await aPerson(app, { is_staff: true }));
        const world = { app, tracker, staff };
        first ??= world;
        worlds.set(`${provider} ${policy}`, world);
      }
    }
    for (const name of labels) await first?.staff.post('/api/v1/labels/', { name }).expect(201);
  });
  afterAll(async () => {
    for (const { app } of worlds.values()) await app.close();
    for (const side of sides) await side.close();
  });

  it('are equal after two syncs under every policy, and no text is lost', async () => {
    const property = fc.asyncProperty(
      fc.constantFrom(...providers),
      fc.constantFrom(...policies),
      scripts,
      async (provider, policy, steps) => {
        const world = worlds.get(`${provider} ${policy}`);
        if (world === undefined) throw new Error('unknown world');
        const issue = await createIssue(world.staff, { title: 'Agreed', description: 'Agreed\ntext' });
        const story = new Story(world, await syncIssue(world.staff, issue));
        for (const [index, step] of steps.entries()) await story.take(step, index);
        await story.sync();
        await story.sync();
        await story.expectEqualSides();
        const { sync } = await story.sync();
        expect(sync.last_result).toMatchObject({
          pushed: [],
          pulled: [],
          comments_pushed: 0,
          comments_pulled: 0,
        });
        await story.expectNothingLost();
        await story.decide();
        await story.sync();
        const { sync: decided } = await story.sync();
        expect(undecided({ ...issue, sync: decided })).toEqual([]);
        await story.expectEqualSides();
      },
    );
    await fc.assert(property, { numRuns, ...(seed === undefined ? {} : { seed }) });
  }, 600_000);
});
