import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { type Issue, issueLabelsMax } from '@tessera/contracts';
import { createIssue, getIssue, historyOf, issuePath } from './issues.ts';
import type { TestPerson } from './people.ts';
import type { TrackerLabelActions } from './test-tracker.ts';

interface LabelSync {
  labels: TrackerLabelActions;
  ann: TestPerson;
  staff: TestPerson;
  sync: (issue: { id: string }) => Promise<Issue>;
}

/** The tests that every tracker with labels must pass. */
export function describeLabelSync(started: () => LabelSync): void {
  const namesOf = ({ labels }: Issue) => labels.map(({ name }) => name);
  const remoteOf = ({ external }: Issue) => external?.id ?? '';
  const there = (issue: Issue) => [...started().labels.of(remoteOf(issue))].sort();
  const setHere = (issue: Issue, labels: string[]) =>
    started().ann.patch(issuePath(issue), { labels }).expect(200);
  const setThere = (issue: Issue, names: string[]) => started().labels.set(remoteOf(issue), names);

  async function createLabel(color = '#d73a4a'): Promise<string> {
    const name = `Label/ü?#% ${randomUUID()}`;
    await started().staff.post('/api/v1/labels/', { name, color }).expect(201);
    return name;
  }

  it('are created in the tracker with their colours, and follow each change on either side once', async () => {
    const { labels, ann, sync } = started();
    const [bug, web] = [await createLabel(), await createLabel('#00ff00')];
    const issue = await sync(await createIssue(ann, { labels: [bug] }));
    expect(issue.sync.last_result).toMatchObject({ created: true, pushed: ['labels'], pulled: [] });
    expect(there(issue)).toEqual([bug]);
    expect(labels.all()).toContainEqual({ name: bug, color: 'd73a4a' });
    expect((await sync(issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });

    const theirs = `Theirs ${randomUUID()}`;
    labels.create(theirs, '0000ff');
    await setHere(issue, [web]);
    setThere(issue, [bug, theirs]);
    const merged = await sync(issue);
    expect(merged.sync.last_result).toMatchObject({ pushed: ['labels'], pulled: ['labels'] });
    expect(merged.labels).toMatchObject(
      [
        { name: web, color: '#00ff00' },
        { name: theirs, color: '#0000ff' },
      ].sort((left, right) => (left.name.toLowerCase() < right.name.toLowerCase() ? -1 : 1)),
    );
    expect(there(issue)).toEqual([web, theirs].sort());
    expect(merged.sync.conflicts).toEqual([]);
    expect(await historyOf(ann, issue)).toContainEqual(
      expect.objectContaining({
        kind: 'label_added',
        new: expect.objectContaining({ name: theirs }),
        actor: null,
      }),
    );

    setThere(issue, [theirs]);
    const pulled = await sync(issue);
    expect([namesOf(pulled), pulled.sync.last_result?.pulled]).toEqual([[theirs], ['labels']]);
    expect((await sync(issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
    expect(there(issue)).toEqual([theirs]);
  });

  it('are removed there after an interrupted push, and those that others add meanwhile stay', async () => {
    const { labels, ann, sync } = started();
    const [bug, web] = [await createLabel(), await createLabel()];
    const issue = await sync(await createIssue(ann, { labels: [bug] }));
    await setHere(issue, [web]);
    labels.interrupt();
    await ann.post(issuePath(issue, 'sync/'));
    setThere(issue, [...there(issue), 'Added meanwhile']);
    const synced = await sync(issue);
    expect(there(issue)).toEqual(['Added meanwhile', web].sort());
    expect(namesOf(synced).sort()).toEqual(['Added meanwhile', web].sort());

    await setHere(issue, [bug]);
    labels.slowDown();
    const running = sync(issue);
    while (!labels.isChanging()) await pause(5);
    setThere(issue, [...there(issue), 'Added between reading and writing']);
    await running;
    expect(namesOf(await sync(issue)).sort()).toEqual(['Added between reading and writing', bug].sort());
    expect(there(issue)).toEqual(['Added between reading and writing', bug].sort());
  });

  it('with the same name in another case are one label', async () => {
    const { labels, ann, sync } = started();
    const name = await createLabel();
    labels.create(name.toUpperCase(), '123456');
    const issue = await sync(await createIssue(ann, { labels: [name] }));
    expect(there(issue)).toEqual([name.toUpperCase()]);
    expect(namesOf(await sync(issue))).toEqual([name]);
    await setHere(issue, []);
    await sync(issue);
    expect(there(issue)).toEqual([]);
  });

  it('stay in the tracker if an issue here cannot hold them, and here if the tracker cannot', async () => {
    const { labels, ann, staff, sync } = started();
    const { unholdable: odd } = labels;
    for (const name of odd) await staff.post('/api/v1/labels/', { name }).expect(201);
    const issue = await sync(await createIssue(ann, { labels: [...odd] }));
    expect([issue.labels.length, there(issue)]).toEqual([odd.length, []]);
    expect((await sync(issue)).labels).toEqual(issue.labels);
    const many = Array.from({ length: issueLabelsMax + 3 }, (_, index) => `Many ${index + 100}`);
    setThere(issue, many);
    const synced = await sync(issue);
    expect(synced.labels).toHaveLength(issueLabelsMax);
    expect(there(issue)).toEqual(many);
    expect((await sync(issue)).sync).toMatchObject({
      state: 'synced',
      last_result: { pushed: [], pulled: [] },
    });
    expect((await getIssue(ann, issue)).labels).toEqual(synced.labels);
    expect(there(issue)).toEqual(many);
    await setHere(issue, [...odd]);
    await sync(issue);
    expect(there(issue)).toHaveLength(3 + odd.length);
  });

  it('keep their names with characters that are special in HTML', async () => {
    const { ann, staff, sync } = started();
    const names = ['C++ <3', 'Q&A', 'a > b & c'];
    for (const name of names) await staff.post('/api/v1/labels/', { name }).expect(201);
    const issue = await sync(await createIssue(ann, { labels: names }));
    expect([namesOf(issue), there(issue)]).toEqual([
      [...names].sort((a, b) => a.localeCompare(b)),
      names.sort(),
    ]);
    expect((await sync(issue)).sync.last_result).toMatchObject({ pushed: [], pulled: [] });
  });

  describe('a label that is renamed here', () => {
    it('is renamed on a remote issue by its next sync', async () => {
      const { ann, staff, sync } = started();
      const name = await createLabel();
      const issue = await sync(await createIssue(ann, { labels: [name] }));
      const [label] = issue.labels;
      const renamed = `Renamed ${randomUUID()}`;
      await staff.patch(`/api/v1/labels/${label?.id}/`, { name: renamed }).expect(200);
      expect(namesOf(await sync(issue))).toEqual([renamed]);
      expect(there(issue)).toEqual([renamed]);
    });
  });
}
