import { randomBytes } from 'node:crypto';
import { rememberSecret } from '@tessera/testing/leaks';
import type { RedmineServer } from '@tessera/trackers/redmine';
import axios from 'axios';
import type { TestTracker, TrackerEdit, TrackerIssue } from './test-tracker.ts';

/** Returns the Redmine of the test run. */
export function redmineServer(): RedmineServer {
  const server: RedmineServer | null = JSON.parse(process.env.TEST_REDMINE ?? 'null');
  if (server === null) throw new Error('Redmine is not running');
  return server;
}

interface RedmineIssue {
  id: number;
  subject: string;
  description: string | null;
  status: { name: string; is_closed: boolean };
  journals?: { user: { name: string }; notes: string | null }[];
}

/** Creates a project in a Redmine in which the service has the role `manager` or `reporter`. */
export async function startRedmineProject(
  role: 'manager' | 'reporter' = 'manager',
  server: RedmineServer = redmineServer(),
): Promise<TestTracker> {
  const project = `p-${randomBytes(6).toString('hex')}`;
  const http = axios.create({
    baseURL: server.url,
    headers: { 'X-Redmine-API-Key': server.admin.key },
    proxy: false,
  });
  await http.post('/projects.json', {
    project: {
      name: project,
      identifier: project,
      is_public: false,
      enabled_module_names: ['issue_tracking'],
      tracker_ids: [1, 2, 3],
    },
  });
  const membership = { user_id: server[role].id, role_ids: [server.roles[role]] };
  await http.post(`/projects/${project}/memberships.json`, { membership });
  const { data: vocabulary } = await http.get('/issue_statuses.json');
  const idOf = (name: string) =>
    vocabulary.issue_statuses.find((status: { name: string }) => status.name === name)?.id;
  const read = async (id: number): Promise<TrackerIssue> => {
    const { data } = await http.get<{ issue: RedmineIssue }>(`/issues/${id}.json?include=journals`);
    return toTrackerIssue(data.issue);
  };
  return {
    provider: 'redmine',
    url: server.url,
    project,
    token: rememberSecret(server[role].key),
    words: { open: 'In Progress', done: 'Closed' },
    commentsPage: 0,
    issues: async () => {
      const query = { project_id: project, status_id: '*', limit: 100, sort: 'id' };
      const first = await http.get('/issues.json', { params: query });
      const pages = [first];
      for (let offset = 100; offset < first.data.total_count; offset += 100) {
        pages.push(await http.get('/issues.json', { params: { ...query, offset } }));
      }
      const ids: number[] = pages.flatMap(({ data }) => data.issues.map(({ id }: { id: number }) => id));
      const issues: TrackerIssue[] = [];
      for (const id of ids) issues.push(await read(id));
      return issues;
    },
    edit: async (id, { title, text, state }: TrackerEdit) => {
      const issue = {
        ...(title === undefined ? {} : { subject: title }),
        ...(text === undefined ? {} : { description: text }),
        ...(state === undefined ? {} : { status_id: idOf(state) }),
      };
      await http.put(`/issues/${id}.json`, { issue });
    },
    comment: async (id, body) => {
      await http.put(`/issues/${id}.json`, { issue: { notes: body } });
    },
    create: async ({ title, text }) => {
      const issue = { project_id: project, subject: title, description: text };
      const { data } = await http.post<{ issue: RedmineIssue }>('/issues.json', { issue });
      return String(data.issue.id);
    },
    assign: async (id) => {
      await http.put(`/issues/${id}.json`, { issue: { assigned_to_id: server[role].id } });
      const { data } = await http.get<{ issue: { assigned_to: { name: string } } }>(`/issues/${id}.json`);
      return data.issue.assigned_to.name;
    },
    remove: async (id) => {
      await http.delete(`/issues/${id}.json`);
    },
    slowDown: () => {},
    close: async () => {},
  };
}

function toTrackerIssue({ id, subject, description, status, journals = [] }: RedmineIssue): TrackerIssue {
  return {
    id: String(id),
    title: subject,
    text: description ?? '',
    isOpen: !status.is_closed,
    state: status.name,
    comments: journals
      .filter(({ notes }) => (notes ?? '') !== '')
      .map(({ user, notes }) => ({ author: user.name, body: notes ?? '' })),
  };
}
