import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { createIssue, getIssue, historyOf, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import type { TestTracker } from './support/test-tracker.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

interface Write {
  /** Forwards the request to Redmine and returns the body of the response. */
  forward: () => Promise<string>;
}

// A user saves an edit in Redmine at a critical time, which a proxy in front of Redmine controls.
describe('an edit in Redmine while a sync writes there', () => {
  let tracker: TestTracker;
  let app: TestApp;
  let ann: TestPerson;
  /** Called once instead of forwarding the next write. */
  let interfere: ((write: Write) => Promise<'respond' | 'drop'>) | undefined;
  const proxy = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/', headers } = request;
    const { hostname, port } = new URL(tracker.url);
    const sent = await text(request);
    let answer: { status: number; body: string } | undefined;
    const forward = async () => {
      const onward = send({ hostname, port, method, path, headers }).end(sent);
      const [received] = await once(onward, 'response');
      answer = { status: received.statusCode, body: await text(received) };
      return answer.body;
    };
    const run = method === 'GET' ? undefined : interfere;
    if (run !== undefined) interfere = undefined;
    if ((await run?.({ forward })) === 'drop') {
      request.socket.destroy();
      return;
    }
    if (answer === undefined) await forward();
    response.writeHead(answer?.status ?? 502, { 'content-type': 'application/json' }).end(answer?.body);
  });
  beforeAll(async () => {
    tracker = await startRedmineProject();
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    app = await startTestApp(trackerEnvironment({ ...tracker, url }));
    ann = await aPerson(app);
  });
  afterAll(async () => {
    await app.close();
    proxy.closeAllConnections();
    proxy.close();
    await tracker.close();
  });

  it('between our read and our update is kept as a conflict and in the history', async () => {
    const issue = await createIssue(ann, { title: 'Agreed', description: 'Agreed text' });
    const { external } = await syncIssue(ann, issue);
    await ann.put(issuePath(issue), { title: 'Ours', description: 'Our text' }).expect(200);
    interfere = async () => {
      await tracker.edit(external?.id ?? '', { title: 'Theirs', text: 'Their text' });
      return 'respond';
    };
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ title: 'Ours', description: 'Our text' });
    expect(synced.sync.conflicts).toMatchObject([
      {
        field: 'title',
        reason: 'overwritten',
        local: 'Ours',
        remote: 'Theirs',
        base: 'Agreed',
        kept: 'local',
      },
      {
        field: 'description',
        reason: 'overwritten',
        local: 'Our text',
        remote: 'Their text',
        base: 'Agreed text',
        kept: 'local',
      },
    ]);
    expect(await historyOf(ann, issue)).toContainEqual(
      expect.objectContaining({ kind: 'sync_conflict', field: 'title', old: 'Theirs', new: 'Ours' }),
    );
    expect((await syncIssue(ann, issue)).sync.conflicts).toEqual(synced.sync.conflicts);
  });

  it('is found by the next sync if the response to the update was lost', async () => {
    const issue = await createIssue(ann, { title: 'Agreed' });
    const { external } = await syncIssue(ann, issue);
    await ann.put(issuePath(issue), { title: 'Ours' }).expect(200);
    await ann.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
    interfere = async ({ forward }) => {
      await tracker.edit(external?.id ?? '', { title: 'Theirs', state: 'Rejected' });
      await forward();
      return 'drop';
    };
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 502, 'tracker_unavailable');
    const synced = await syncIssue(ann, issue);
    expect(synced).toMatchObject({ title: 'Ours', status: 'IN_PROGRESS' });
    expect(synced.sync.conflicts).toMatchObject([
      { field: 'title', reason: 'overwritten', local: 'Ours', remote: 'Theirs', base: 'Agreed' },
      { field: 'status', reason: 'overwritten', local: 'IN_PROGRESS', remote: 'Rejected', base: 'New' },
    ]);
    expect((await syncIssue(ann, issue)).sync.conflicts).toEqual(synced.sync.conflicts);
  });

  it('can be taken back by staff', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const issue = await createIssue(ann, { title: 'Agreed' });
    const { external } = await syncIssue(ann, issue);
    await ann.put(issuePath(issue), { title: 'Ours' }).expect(200);
    interfere = async () => {
      await tracker.edit(external?.id ?? '', { title: 'Theirs' });
      return 'respond';
    };
    const [conflict] = (await syncIssue(ann, issue)).sync.conflicts;
    await staff.post(issuePath(issue, `sync/conflicts/${conflict?.id}/`), { keep: 'remote' }).expect(200);
    const decided = await syncIssue(ann, issue);
    expect(decided).toMatchObject({ title: 'Theirs', sync: { conflicts: [] } });
    expect((await tracker.issues()).find(({ id }) => id === external?.id)?.title).toBe('Theirs');
  });

  it('in the second in which the issue was created without a response is pulled', async () => {
    const issue = await createIssue(ann, { title: 'Sent', description: 'Sent text' });
    interfere = async ({ forward }) => {
      const { id } = JSON.parse(await forward()).issue;
      await tracker.edit(String(id), { title: 'Edited at once' });
      return 'drop';
    };
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 502, 'tracker_unavailable');
    expect(await syncIssue(ann, issue)).toMatchObject({ title: 'Edited at once', description: 'Sent text' });
    expect((await getIssue(ann, issue)).sync).toMatchObject({ state: 'synced', conflicts: [] });
  });
});
