import { z } from 'zod';
import { trackerVariables, trackingConfig } from '../../src/tracker-sync/tracker-environment.ts';
import type { FarSide } from './far-side.ts';
import { startTestApp } from './test-app.ts';

/** Times that a test can wait for. */
const quick = {
  TRACKER_DEADLINE_MS: '5000',
  TRACKER_BREAK_MS: '300',
  TRACKER_SETTLE_SECONDS: '1',
  TRACKER_WRITE_INTERVAL_MS: '0',
};

/** The environment of a service that syncs with a tracker. */
export function trackerEnvironment(
  { provider, url, project, token }: Pick<FarSide, 'provider' | 'url' | 'project' | 'token'>,
  overrides: Record<string, string> = {},
): Record<string, string> {
  return {
    TRACKER_PROVIDER: provider,
    TRACKER_URL: url,
    TRACKER_PROJECT: project,
    TRACKER_TOKEN: token,
    ...quick,
    ...overrides,
  };
}

/** The issue routes, syncing with a tracker; nothing is synced in the background. */
export async function startSyncedApp(
  side: Pick<FarSide, 'provider' | 'url' | 'project' | 'token'>,
  overrides: Record<string, string> = {},
  databaseUrl?: string,
) {
  const read = z.object(trackerVariables).parse(trackerEnvironment(side, overrides));
  const tracking = trackingConfig(read);
  if (tracking === undefined) throw new Error('the tracker is not configured');
  return startTestApp({ tracking }, databaseUrl);
}
