import type { RemoteIssue } from '../../src/trackers/external-tracker.ts';
import { redmineWords } from '../../src/trackers/redmine.tracker.ts';
import type { TestTracker } from './test-tracker.ts';

// Short times for the tests, and no syncs in the background.
const defaults = {
  SYNC_WORKERS: '0',
  TRACKER_DEADLINE_MS: '5000',
  TRACKER_BREAK_MS: '300',
  TRACKER_SETTLE_SECONDS: '1',
  TRACKER_WRITE_INTERVAL_MS: '0',
};

/** Returns the environment of a service that syncs with a tracker only on request. */
export function trackerEnvironment(
  { provider, url, project, token }: Pick<TestTracker, 'provider' | 'url' | 'project' | 'token'>,
  overrides: Record<string, string> = {},
): Record<string, string> {
  return {
    TRACKER_PROVIDER: provider,
    TRACKER_URL: url,
    TRACKER_PROJECT: project,
    TRACKER_TOKEN: token,
    ...defaults,
    // A real Redmine answers late on a busy machine.
    ...(provider === 'redmine' ? { TRACKER_DEADLINE_MS: '60000' } : {}),
    ...overrides,
  };
}

/** The configuration of a tracker client that a test creates without a service. */
export const trackerConfig = {
  url: 'http://127.0.0.1',
  project: 'acme/website',
  token: 'key',
  login: undefined,
  words: redmineWords,
  redmine: { type: undefined, customFields: [] },
  timeoutMs: 5_000,
  breakMs: 1_000,
  settleSeconds: undefined,
  writeIntervalMs: undefined,
};

/** An issue as a tracker client returns it. */
export const remoteIssue: RemoteIssue = {
  id: '1',
  key: '#1',
  url: 'https://tracker.example/1',
  title: 'base',
  description: 'base',
  marker: null,
  isPrivate: false,
  state: 'open',
  priority: 'MEDIUM',
  labels: [],
  createdAt: new Date(0),
  updatedAt: new Date(0),
  readAt: new Date(0),
  commentsCount: null,
  revision: null,
};
