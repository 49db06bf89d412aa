import { canRunRedmine, startRedmine } from '@tessera/trackers/redmine';
import type { Lab } from '../lab/lab.ts';
import type { LoadRequest } from '../load/load.ts';
import type { Contender } from '../run/sample.ts';
import { httpContender } from './http-contender.ts';

export const redmineName = 'Redmine';

/** A Redmine with issues, and the requests that measure it. */
export type RedminePeer = Awaited<ReturnType<typeof startRedminePeer>>;

/**
 * Starts Debian's Redmine in production mode with this number of issues, each with three comments.
 * @throws Error where Redmine cannot run
 */
export async function startRedminePeer(issues: number) {
  if (!canRunRedmine()) throw new Error('needs root and packages/dev/trackers/install-redmine.sh');
  const { pids, stop, server, seedIssues } = await startRedmine({ isSerial: false });
  try {
    const seeded = await seedIssues(issues);
    return { pids, stop, url: server.url, apiKey: server.admin.key, ...seeded };
  } catch (error) {
    await stop();
    throw error;
  }
}

export const redmineRequests = {
  /** Reads a hundred issues with their comments. */
  get: (peer: RedminePeer): LoadRequest[] =>
    Array.from({ length: 100 }, (_, index) => peer.firstIssueId + index).map((id) => ({
      method: 'GET',
      path: redmineIssuePath(id),
      headers: headersOf(peer),
      expect: { status: 200, contains: `"id":${id}` },
    })),
  /** Reads a page of the newest issues in Redmine's default size. */
  list: (peer: RedminePeer): LoadRequest[] => [
    {
      method: 'GET',
      path: '/issues.json?limit=25&status_id=*',
      headers: headersOf(peer),
      expect: { status: 200, contains: '"limit":25' },
    },
  ],
  create: (peer: RedminePeer): LoadRequest[] => [
    {
      method: 'POST',
      path: '/issues.json',
      headers: headersOf(peer),
      body: JSON.stringify({
        issue: {
          project_id: peer.projectId,
          tracker_id: peer.trackerIds[0],
          status_id: peer.statusIds[0],
          priority_id: peer.priorityIds[0],
          subject: 'Created by the benchmark',
          description: 'What happened, what should have happened.',
        },
      }),
      expect: { status: 201, contains: '"id":' },
    },
  ],
};

/** An issue with its comments. */
export function redmineIssuePath(id: number): string {
  return `/issues/${id}.json?include=journals`;
}

/** @throws Error where Redmine cannot run */
export async function redmine(lab: Lab, operation: keyof typeof redmineRequests): Promise<Contender> {
  const peer = await lab.redmine();
  return httpContender(lab, {
    name: redmineName,
    origins: [peer.url],
    requests: redmineRequests[operation](peer),
    // Puma has two to four threads, so further connections would only queue. SQLite has one writer: a transaction that reads
    // first and then finds the database locked fails at once, with status 500.
    connections: operation === 'create' ? 1 : 4,
    pids: peer.pids,
  });
}

function headersOf({ apiKey }: RedminePeer) {
  return { 'X-Redmine-API-Key': apiKey, 'Content-Type': 'application/json' };
}
