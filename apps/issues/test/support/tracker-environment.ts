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
    ...overrides,
  };
}
