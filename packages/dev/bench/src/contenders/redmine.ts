import type { Lab } from '../lab/lab.ts';
import type { LoadRequest } from '../load/load.ts';
import {
  type RedminePeer,
  redmineCreatePath,
  redmineGetPath,
  redmineIssue,
  redmineListPath,
} from '../peers/redmine.ts';
import type { Contender } from '../run/sample.ts';
import { httpContender } from './http-contender.ts';

export const redmineName = 'Redmine';

const requestsOf = {
  get: (peer: RedminePeer): LoadRequest[] =>
    Array.from({ length: 100 }, (_, index) => peer.issueId + index).map((issueId) => ({
      method: 'GET',
      path: redmineGetPath({ issueId }),
      headers: headersOf(peer),
      expect: { status: 200, contains: `"id":${issueId}` },
    })),
  list: (peer: RedminePeer): LoadRequest[] => [
    {
      method: 'GET',
      path: redmineListPath,
      headers: headersOf(peer),
      expect: { status: 200, contains: '"limit":25' },
    },
  ],
  create: (peer: RedminePeer): LoadRequest[] => [
    {
      method: 'POST',
      path: redmineCreatePath,
      headers: headersOf(peer),
      body: JSON.stringify(redmineIssue(peer)),
      expect: { status: 201, contains: '"id":' },
    },
  ],
};

/** @throws Error where Redmine cannot run */
export async function redmine(lab: Lab, what: keyof typeof requestsOf): Promise<Contender> {
  const peer = await lab.redmine();
  return httpContender(lab, {
    name: redmineName,
    origins: [peer.url],
    requests: requestsOf[what](peer),
    // Puma has two to four threads, so further connections would only queue. SQLite has one writer: a transaction that reads
    // first and then finds the database locked fails at once, with status 500.
    connections: what === 'create' ? 1 : 4,
    pids: peer.pids,
  });
}

function headersOf({ apiKey }: RedminePeer) {
  return { 'X-Redmine-API-Key': apiKey, 'Content-Type': 'application/json' };
}
