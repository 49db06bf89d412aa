import { TrackerError } from './tracker-error.ts';

/** One thing that syncs need of the tracker. */
export interface TrackerCheck {
  name: 'permissions' | 'statuses' | 'priorities' | 'type' | 'custom_fields';
  /** What is missing and what to do about it; null: nothing is missing. */
  problem: string | null;
  /** The tracker's own words. */
  messages?: readonly string[];
}

const refusals = new Set<string>(['not_a_member', 'tracker_auth_failed', 'project_archived']);

/**
 * Whether the token may change issues. `update` sends an update of issue 0, which no tracker has: a token without the
 * permission is refused before the issue is looked for.
 */
export async function checkWriting(update: () => Promise<unknown>): Promise<TrackerCheck> {
  try {
    await update();
  } catch (error) {
    if (!(error instanceof TrackerError) || error.isTransient) throw error;
    if (refusals.has(error.code)) {
      const problem =
        'The account or its token may not change issues: give them the permissions that the README lists for TRACKER_TOKEN.';
      return { name: 'permissions', problem, messages: error.messages };
    }
  }
  return { name: 'permissions', problem: null };
}

const namesMax = 30;

/** Names for a sentence, of which there can be many. */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, namesMax).map((name) => `"${name.slice(0, 60)}"`);
  return names.length > namesMax ? `${listed.join(', ')}, …` : listed.join(', ') || 'none';
}
