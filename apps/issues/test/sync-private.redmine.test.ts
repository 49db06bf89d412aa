import { describe, expect, it } from '@jest/globals';
import axios from 'axios';
import { createIssue } from './support/issues.ts';
import { aPerson } from './support/people.ts';
import { redmineServer, startRedmineProject } from './support/redmine-project.ts';
import { syncIssue } from './support/sync-conformance.ts';
import { describePrivate } from './support/sync-private.ts';
import { startTestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

const asAdmin = () => {
  const { url, admin } = redmineServer();
  return axios.create({ baseURL: url, headers: { 'X-Redmine-API-Key': admin.key }, proxy: false });
};

describe('a private issue in Redmine', () => {
  describePrivate(async () => {
    const tracker = await startRedmineProject();
    const hide = async (id: string, isPrivate: boolean) => {
      await asAdmin().put(`/issues/${id}.json`, { issue: { is_private: isPrivate } });
    };
    return { tracker, hide };
  });
});

describe('a private note in Redmine', () => {
  it('is copied by a requested sync after its publication, which does not change the issue', async () => {
    const app = await startTestApp(trackerEnvironment(await startRedmineProject()));
    const ann = await aPerson(app);
    const issue = await createIssue(ann);
    const path = `/issues/${(await syncIssue(ann, issue)).external?.id}.json`;
    await asAdmin().put(path, { issue: { notes: 'A secret', private_notes: true } });
    expect((await syncIssue(ann, issue)).comments).toEqual([]);
    const { data: before } = await asAdmin().get(`${path}?include=journals`);
    // The state when the second of the last change has passed.
    await app.sql('UPDATE tracker_links SET remote_seen_until = $1', [before.issue.updated_on]);

    const note = `/journals/${before.issue.journals.at(-1).id}.json`;
    await asAdmin().put(note, { journal: { private_notes: false } });
    expect((await asAdmin().get(path)).data.issue.updated_on).toBe(before.issue.updated_on);
    expect((await syncIssue(ann, issue)).comments).toMatchObject([{ body: 'A secret', origin: 'redmine' }]);
    await app.close();
  });
});
