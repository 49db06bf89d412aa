import { TrackerError } from './tracker-error.ts';

/** The result of one check of the tracker. */
export interface TrackerCheck {
  name: 'permissions' | 'statuses' | 'priorities' | 'type' | 'custom_fields';
  /** The problem and its solution; null if the check succeeded. */
  problem: string | null;
  /** Error messages of the tracker. */
  messages?: readonly string[];
}

const refusals = new Set<string>(['not_a_member', 'tracker_auth_failed', 'project_archived']);

/**
 * Checks whether the token may change issues. `update` sends an update of issue 0, which does not exist in any tracker:
 * trackers check the token's permission before they look for the issue.
 */
export async function checkWriting(update: () => Promise<unknown>): Promise<TrackerCheck> {
  try {
    await update();
  } catch (error) {
    if (!(error instanceof TrackerError) || error.isTransient) throw error;
    if (refusals.has(error.code)) {
      const problem =
        'The account or its token may not change issues: give them the permissions that docs/tracker-sync/set-up.md lists for TRACKER_TOKEN.';
      return { name: 'permissions', problem, messages: error.messages };
    }
  }
  return { name: 'permissions', problem: null };
}

const namesMax = 30;

/** Formats names for a sentence, and shortens a long list. */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, namesMax).map((name) => `"${name.slice(0, 60)}"`);
  return names.length > namesMax ? `${listed.join(', ')}, …` : listed.join(', ') || 'none';
}
