import { startRedmine } from '@tessera/trackers/redmine';

/** A Redmine with issues in it, and what it takes to read, list and create some. */
export interface RedminePeer {
  url: string;
  /** For the `X-Redmine-API-Key` header; an administrator's. */
  apiKey: string;
  projectId: number;
  /** The first of `issues` without a gap; each has three comments. */
  issueId: number;
  issues: number;
  statusIds: number[];
  trackerIds: number[];
  priorityIds: number[];
  /** Its processes, to measure what they use. */
  pids: () => number[];
  stop: () => Promise<void>;
}

/** Starts Debian's Redmine in production mode with so many issues. Needs `canRunRedmine()`. */
export async function startRedminePeer({ issues }: { issues: number }): Promise<RedminePeer> {
  const redmine = await startRedmine();
  const { pids, stop, server } = redmine;
  try {
    const { firstIssueId, ...seeded } = await redmine.seedIssues(issues);
    return { ...seeded, url: server.url, apiKey: server.admin.key, issueId: firstIssueId, pids, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** An issue with its comments. */
export function redmineGetPath({ issueId }: Pick<RedminePeer, 'issueId'>): string {
  return `/issues/${issueId}.json?include=journals`;
}

/** The newest issues, a page as large as Redmine's own. */
export const redmineListPath = '/issues.json?limit=25&status_id=*';

export const redmineCreatePath = '/issues.json';

/** What a POST to `redmineCreatePath` takes. */
export function redmineIssue({
  projectId,
  trackerIds,
  statusIds,
  priorityIds,
}: Pick<RedminePeer, 'projectId' | 'trackerIds' | 'statusIds' | 'priorityIds'>) {
  return {
    issue: {
      project_id: projectId,
      tracker_id: trackerIds[0],
      status_id: statusIds[0],
      priority_id: priorityIds[0],
      subject: 'Created by the benchmark',
      description: 'What happened, what should have happened.',
    },
  };
}
