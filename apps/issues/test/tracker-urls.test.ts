import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@tessera/service-kit';
import type { ExternalTracker } from '../src/trackers/external-tracker.ts';
import { GiteaTracker } from '../src/trackers/gitea.tracker.ts';
import { GitHubTracker } from '../src/trackers/github.tracker.ts';
import { GitLabTracker } from '../src/trackers/gitlab.tracker.ts';
import { RedmineTracker, redmineWords } from '../src/trackers/redmine.tracker.ts';
import { TrackerClock } from '../src/trackers/tracker-clock.ts';
import type { TrackerConfig, TrackerLimit } from '../src/trackers/tracker-config.ts';

const logger = createLogger({ service: 'issues', level: 'silent' });
const signal = new AbortController().signal;
const time = '2026-01-01T00:00:00Z';

/** Returns an issue in the format of every tracker. */
const issueWith = (url: string) => ({
  number: 7,
  iid: 7,
  html_url: url,
  web_url: url,
  title: 'Title',
  body: 'Text',
  description: 'Text',
  state: 'open',
  created_at: time,
  updated_at: time,
});
const redmineIssue = (url: string) => ({
  ...issueWith(url),
  id: 7,
  url,
  project: { id: 1, name: 'Website' },
  status: { id: 1, name: 'New' },
  priority: { id: 2, name: 'Normal' },
  subject: 'Title',
  created_on: time,
  updated_on: time,
});

const limit: TrackerLimit = { remainingSeconds: async () => 0, extend: async () => undefined };
const trackers: [string, (config: TrackerConfig) => ExternalTracker][] = [
  ['GitHub', (config) => new GitHubTracker(config, { logger, limit, clock: new TrackerClock() })],
  ['Gitea', (config) => new GiteaTracker(config, { logger, limit, clock: new TrackerClock() })],
  ['GitLab', (config) => new GitLabTracker(config, { logger, limit, clock: new TrackerClock() })],
];

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

async function answering(body: object): Promise<TrackerConfig> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closes.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return {
    provider: 'github',
    url: `http://127.0.0.1:${port}`,
    project: 'acme/website',
    token: 'x',
    login: undefined,
    words: redmineWords,
    redmine: { type: undefined, customFields: [] },
    timeoutMs: 2_000,
    breakMs: 30_000,
    settleSeconds: undefined,
    writeIntervalMs: undefined,
  };
}

describe('the URL of a remote issue', () => {
  describe.each(trackers)('of %s', (_name, create) => {
    it.each([
      'javascript:alert(document.cookie)',
      'JavaScript:alert(1)//https://x.test',
      'data:text/html,x',
      '//x.test/issues/7',
      'https://x.test/\u0000',
      'https://x.test/\nissues',
      'http://',
      '',
    ])('is not accepted as %j', async (url) => {
      const tracker = create(await answering(issueWith(url)));
      await expect(tracker.get('7', signal)).rejects.toMatchObject({ code: 'tracker_unavailable' });
    });

    it('may be an http(s) URL', async () => {
      const url = 'https://x.test/acme/website/issues/7';
      await expect(create(await answering(issueWith(url))).get('7', signal)).resolves.toMatchObject({ url });
    });
  });

  it('of Redmine is derived from the configured address', async () => {
    const config = await answering({
      project: { id: 1, status: 1 },
      issue: redmineIssue('javascript:alert(1)'),
      issue_statuses: [{ id: 1, name: 'New', is_closed: false }],
      issue_priorities: [{ id: 2, name: 'Normal' }],
    });
    const tracker = new RedmineTracker(config, { logger, limit, clock: new TrackerClock() });
    await expect(tracker.get('7', signal)).resolves.toMatchObject({ url: `${config.url}/issues/7` });
  });
});
