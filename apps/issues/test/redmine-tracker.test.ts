import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@tessera/service-kit';
import { RedmineTracker } from '../src/trackers/redmine.tracker.ts';
import { TrackerClock } from '../src/trackers/tracker-clock.ts';
import { issueMarker } from '../src/trackers/tracker-text.ts';
import { trackerConfig } from './support/tracker-environment.ts';

const hourMs = 3_600_000;
const issueId = '01980c5e-0000-7000-8000-000000000001';
const signal = new AbortController().signal;
const vocabulary: Record<string, object> = {
  '/projects/website.json': { project: { id: 1, status: 1 } },
  '/issue_statuses.json': { issue_statuses: [{ id: 1, name: 'New', is_closed: false }] },
  '/enumerations/issue_priorities.json': { issue_priorities: [{ id: 2, name: 'Normal' }] },
};
const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

/** Starts a fake Redmine with one issue. Its list interprets dates like Redmine (app/models/query.rb, date_clause). */
async function startRedmine({ createdAt, zoneHours }: { createdAt: Date; zoneHours: number }) {
  const time = createdAt.toISOString();
  const issue = {
    id: 17,
    project: { id: 1, name: 'Website' },
    status: { id: 1, name: 'New' },
    priority: { id: 2, name: 'Normal' },
    subject: 'Title',
    description: `Text\r\n\r\n${issueMarker(issueId)}`,
    created_on: time,
    updated_on: time,
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://redmine');
    const from = /^>=(\d{4}-\d\d-\d\d)$/.exec(url.searchParams.get('created_on') ?? '')?.[1];
    // The beginning of the day in the account's time zone.
    const isListed = from === undefined || createdAt.getTime() >= Date.parse(from) - zoneHours * hourMs;
    const body = vocabulary[url.pathname] ?? { issues: isListed ? [issue] : [] };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closes.push(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const logger = createLogger({ service: 'issues', level: 'silent' });
  return new RedmineTracker(
    { ...trackerConfig, provider: 'redmine', url: `http://127.0.0.1:${port}`, project: 'website' },
    {
      logger,
      limit: { remainingSeconds: async () => 0, extend: async () => undefined },
      clock: new TrackerClock(),
    },
  );
}

describe('an issue whose create request got no response', () => {
  const attempts = ['2026-11-21T00:30:00Z', '2026-11-21T03:00:00Z', '2026-11-21T23:59:00Z'];
  const cases = attempts.flatMap((at) => [-12, -8, 0, 9, 14].map((zoneHours) => ({ at, zoneHours })));

  it.each(cases)('at $at is found by an account $zoneHours hours from UTC', async ({ at, zoneHours }) => {
    const createdAt = new Date(at);
    const tracker = await startRedmine({ createdAt, zoneHours });
    const found = await tracker.findByMarker(issueMarker(issueId), createdAt, signal);
    expect(found.map(({ id }) => id)).toEqual(['17']);
  });
});
