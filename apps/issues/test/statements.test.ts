import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { rememberSecret } from '@tessera/testing/leaks';
import {
  type DatabaseUse,
  databaseUse,
  type RoundTripRecorder,
  startRoundTripRecorder,
} from '@tessera/testing/round-trips';
import type { Test } from 'supertest';
import { FakeIdentity } from './support/fake-identity.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';
import { anEmail, aPerson, password, type TestPerson } from './support/people.ts';
import { createTestDatabase } from './support/test-database.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

/** The expected number of statements of a request, and the reason for it. */
interface Expected extends DatabaseUse {
  request: string;
  send: () => Test;
  because: string;
}

const trackerToken = rememberSecret('a-tracker-token-of-the-statements');

let recorder: RoundTripRecorder;
let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
let now = 1_000;
let issue: string;
/** 20 issues. */
const issues: string[] = [];
let commentId: string;
let statusChanges = 0;
let commentChanges = 0;
let bulkChanges = 0;
let titleChanges = 0;

const create = (body: object = {}) =>
  ann.post('/api/v1/issues/', { title: 'Printer does not print', ...body });
const list = (size: number) => ann.get(`/api/v1/issues/?limit=${size}`);
const comment = () => ann.post(`/api/v1/issues/${issue}/comments/`, { body: 'Still broken' });
const links = [{ type: 'invoice', ref: '1' }];

const table: Expected[] = [
  {
    request: 'GET an issue with comments, links, reporter and assignee',
    send: () => ann.get(`/api/v1/issues/${issue}/`),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement confirms that the cached text is current',
  },
  ...[20, 50].map((size) => ({
    request: `GET a list of ${size}`,
    send: () => list(size),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement finds the page, whose issues are cached',
  })),
  {
    request: 'GET a list with a filter',
    send: () => ann.get('/api/v1/issues/?limit=50&status=OPEN'),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'the statement is parsed once and planned with its values for each request',
  },
  {
    request: 'GET a list with some members of each issue',
    send: () => ann.get('/api/v1/issues/?limit=50&fields=key,title,status'),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement finds the page, whose members are cached',
  },
  ...['status', 'assignee'].map((by) => ({
    request: `GET the counts by ${by}`,
    send: () => ann.get(`/api/v1/issues/counts/?by=${by}&is_open=true`),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement counts all values',
  })),
  {
    request: 'GET a list of the issues with a label',
    send: () => ann.get('/api/v1/issues/?limit=50&label=bug'),
    statements: 2,
    roundTrips: 2,
    parsed: 0,
    because: 'the first statement resolves the label, so that the list is planned with its id',
  },
  {
    request: 'GET the feed of events',
    send: () => ann.get('/api/v1/events/'),
    statements: 1,
    roundTrips: 1,
    parsed: 1,
    because:
      'one statement reads the events and the end of the feed from one snapshot; it has no name, for poolers',
  },
  {
    request: 'POST an issue',
    send: () => create(),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement writes the issue, its links and its history',
  },
  {
    request: 'POST an issue with links and an assignee',
    send: () => create({ assignee_id: bob.id, links }),
    statements: 2,
    roundTrips: 2,
    parsed: 0,
    because: 'the first statement reads the assignee from the mirror',
  },
  {
    request: 'POST an issue with labels',
    send: () => create({ labels: ['bug', 'web'] }),
    statements: 2,
    roundTrips: 2,
    parsed: 0,
    because: 'the first statement resolves the labels',
  },
  {
    request: 'POST an issue with a new Idempotency-Key',
    send: () => create().set('Idempotency-Key', randomUUID()),
    statements: 6,
    roundTrips: 6,
    parsed: 0,
    because: 'a lookup of the key, then a transaction with the reservation, the issue and the response',
  },
  {
    request: 'POST an issue again with its Idempotency-Key',
    send: () => create().set('Idempotency-Key', 'the-same-each-time'),
    statements: 2,
    roundTrips: 2,
    parsed: 0,
    because: 'a lookup of the key, then of the revision, because the response contains the current issue',
  },
  {
    request: 'POST the status',
    send: () => {
      statusChanges += 1;
      return ann.post(`/api/v1/issues/${issue}/status/`, {
        status: statusChanges % 2 === 1 ? 'CLOSED' : 'REOPENED',
      });
    },
    statements: 2,
    roundTrips: 2,
    parsed: 0,
    because: 'the rules read the issue, then the change is applied if the issue is unchanged',
  },
  {
    request: 'POST a comment',
    send: () => comment(),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement writes the comment, the count, the history and the watchers',
  },
  {
    request: 'PATCH a comment',
    send: () => {
      commentChanges += 1;
      return ann.patch(`/api/v1/issues/${issue}/comments/${commentId}/`, { body: `Text ${commentChanges}` });
    },
    statements: 2,
    roundTrips: 2,
    parsed: 0,
    because: 'the rules read the comment, then the change is applied if the issue is unchanged',
  },
  {
    request: 'POST an issue with mentions',
    send: () => create({ description: 'cc @bob, @ann and @eve' }),
    statements: 2,
    roundTrips: 2,
    parsed: 0,
    because: 'the first statement finds all mentioned people',
  },
  {
    request: 'POST a change of 20 issues',
    send: () => {
      bulkChanges += 1;
      return ann.post('/api/v1/issues/bulk/', {
        ids: issues,
        priority: bulkChanges % 2 === 0 ? 'LOW' : 'HIGH',
      });
    },
    statements: 24,
    roundTrips: 24,
    parsed: 0,
    because: 'a transaction with the locks of all issues, their rows, and a statement for each issue',
  },
  {
    request: 'PATCH an issue',
    send: () => {
      titleChanges += 1;
      return ann.patch(`/api/v1/issues/${issue}/`, { title: `Title ${titleChanges}` });
    },
    statements: 3,
    roundTrips: 3,
    parsed: 0,
    because:
      'the people of the request are looked up for the issue as read; the rules read it again before the change',
  },
  {
    request: 'PUT watch',
    send: () => bob.put(`/api/v1/issues/${issue}/watch/`),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement finds the issue and writes the row',
  },
  {
    request: 'GET the watched issues',
    send: () => ann.get('/api/v1/users/me/watching/'),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement reads the rows and the reported issues',
  },
  {
    request: 'GET the notifications',
    send: () => ann.get('/api/v1/notifications/'),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement reads the page and counts the unread ones',
  },
  {
    request: 'POST read notifications',
    send: () => ann.post('/api/v1/notifications/read/', { up_to: 1 }),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement marks them and counts the unread ones',
  },
  {
    request: 'POST snoozed notifications',
    send: () => ann.post('/api/v1/notifications/snooze/', { ids: [1], until: '2026-11-30T08:00:00Z' }),
    statements: 1,
    roundTrips: 1,
    parsed: 0,
    because: 'one statement hides them and counts the unread ones',
  },
];

beforeAll(async () => {
  recorder = await startRoundTripRecorder(await createTestDatabase());
  // A fixed clock prevents cached values from expiring between two requests.
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  app = await startTestApp(oneConnection, { databaseUrl: recorder.url });
  [ann, bob] = [await aPerson(app, { is_staff: true }), await aPerson(app)];
  for (const name of ['bug', 'web']) await ann.post('/api/v1/labels/', { name }).expect(201);
  for (let count = 0; count < 60; count += 1) {
    const created = await create({ assignee_id: bob.id, links, labels: ['bug'] }).expect(201);
    issue = created.body.id;
    if (issues.length < 20) issues.push(issue);
  }
  for (let count = 0; count < 3; count += 1) commentId = (await comment().expect(201)).body.id;
});
afterAll(async () => {
  jest.restoreAllMocks();
  await app.close();
  await recorder.close();
});

// One connection of each kind, so that every request uses a connection that the first requests warmed.
const oneConnection = { DATABASE_POOL_MAX: '1' };

const succeed = async (request: Test) => expect((await request).status).toBeLessThan(300);

describe('a request on a warmed connection', () => {
  it.each(table)(
    'takes PostgreSQL { statements: $statements, roundTrips: $roundTrips, parsed: $parsed } for $request: $because',
    async ({ send, statements, roundTrips, parsed }) => {
      const trips = await recorder.warmed(() => succeed(send()));
      expect(databaseUse(trips)).toEqual({ statements, roundTrips, parsed });
    },
  );

  it('sends the same statements for a list of 50 as for a list of 20', async () => {
    const [few, many] = [await list(20).expect(200), await list(50).expect(200)];
    expect([few.body.length, many.body.length]).toEqual([20, 50]);
    const [forFew, forMany] = [await recorder.warmed(() => list(20)), await recorder.warmed(() => list(50))];
    expect(databaseUse(forMany)).toEqual(databaseUse(forFew));
  });

  it('reads changed issues with one more statement', async () => {
    const change = () => ann.post(`/api/v1/issues/${issue}/comments/`, { body: 'Still broken' }).expect(201);
    const afterChange = async () => {
      await change();
      return recorder.during(() => list(50).expect(200));
    };
    await afterChange();
    expect(databaseUse(await afterChange())).toEqual({ statements: 2, roundTrips: 2, parsed: 0 });
    const trips = await recorder.during(() => list(50).expect(200));
    expect(databaseUse(trips)).toEqual({ statements: 1, roundTrips: 1, parsed: 0 });
  });

  it('reads only the parts of issues that the members of a list show', async () => {
    const tracker = {
      provider: 'gitea',
      url: 'http://127.0.0.1:9',
      project: 'a/b',
      token: trackerToken,
    } as const;
    const synced = await startTestApp({ ...oneConnection, ...trackerEnvironment(tracker) }, app);
    const parts = {
      description: 'left(description,',
      labels: 'json_agg(',
      links_count: 'issue_links',
      sync: 'tracker.last_error',
    };
    const readBy = async (query: string) => {
      const path = `/api/v1/issues/?limit=50${query}`;
      const trips = await recorder.during(() => ann.on(synced).get(path).expect(200));
      const read = trips.flatMap(({ statements }) => statements).join();
      return Object.values(parts).filter((part) => read.includes(part));
    };
    expect(await readBy('')).toEqual(Object.values(parts));
    expect(await readBy('&fields=key,title,status,assignee')).toEqual([]);
    for (const [field, part] of Object.entries(parts))
      expect(await readBy(`&fields=${field}`)).toEqual([part]);
    await synced.close();
  });

  it('answers a poll of an unchanged list by one statement, also in a process that has not read the issues', async () => {
    const other = await startTestApp(oneConnection, app);
    const { etag = '' } = (await list(50).expect(200)).headers;
    const poll = () => ann.on(other).get('/api/v1/issues/?limit=50').set('If-None-Match', etag).expect(304);
    expect(databaseUse(await recorder.warmed(poll))).toEqual({ statements: 1, roundTrips: 1, parsed: 0 });
    expect(databaseUse(await recorder.during(() => ann.on(other).get('/api/v1/issues/?limit=50')))).toEqual({
      statements: 2,
      roundTrips: 2,
      parsed: 1,
    });
    await other.close();
  });

  it('reads the mirror and the closed projects again when they are 2 seconds old', async () => {
    const get = () => ann.get(`/api/v1/issues/${issue}/`).expect(200);
    await recorder.warmed(get);
    now += 2_001;
    // The row of the mirror, and for all callers which projects are not open to everyone.
    expect(databaseUse(await recorder.during(get))).toEqual({ statements: 3, roundTrips: 3, parsed: 0 });
    expect(databaseUse(await recorder.during(get))).toEqual({ statements: 1, roundTrips: 1, parsed: 0 });
  });
});

describe('an e-mail that a user other than staff sends', () => {
  it('takes the same statements with an account as without, and no request to the identity service', async () => {
    const identity = await FakeIdentity.start();
    const other = await startTestApp(oneConnection, { databaseUrl: recorder.url, identity });
    const person = await aPerson(other);
    const { body: own } = await person.post('/api/v1/issues/', { title: 'x' }).expect(201);
    const { email: known } = await aPerson(other);
    const requests: ((email: string) => Test)[] = [
      (email) => person.get(`/api/v1/users/?search=${email}`),
      (email) => person.post('/api/v1/issues/', { title: 'x', assignee_email: email }),
      (email) => person.patch(`/api/v1/issues/${own.id}/`, { assignee_email: email }),
      (email) => person.post(`/api/v1/issues/${own.id}/links/`, { type: 'user', ref: email }),
      (email) => person.post('/api/v1/users/', { email, password }),
      (email) => person.patch('/api/v1/users/me/', { email }),
    ];
    for (const [index, request] of requests.entries()) {
      const statements = async (email: string) =>
        (await recorder.warmed(() => request(email))).map(({ statements: [text] }) => text);
      expect([index, await statements(known)]).toEqual([index, await statements(anEmail())]);
    }
    expect(identity.seen).toEqual([]);
    await other.close();
    await identity.stop();
  });
});

describe('a rate limit', () => {
  it('sends no statement on the connections of requests, and none for a read', async () => {
    const limits = { RATE_LIMIT_READS_PER_MINUTE: '1200', RATE_LIMIT_WRITES_PER_MINUTE: '300' };
    const limited = await startTestApp({ ...oneConnection, ...limits }, app);
    ann = ann.on(limited);
    for (const { request, send, statements, roundTrips, parsed } of table) {
      let trips = await recorder.warmed(() => succeed(send()));
      const own = () => trips.filter(({ application }) => application !== 'issues limits');
      expect({ request, ...databaseUse(own()) }).toEqual({ request, statements, roundTrips, parsed });
      if (!request.startsWith('GET')) continue;
      // A write before the read is counted a moment after its response.
      for (let more = 0; more < 5 && own().length < trips.length; more += 1)
        trips = await recorder.warmed(() => succeed(send()));
      expect(own()).toHaveLength(trips.length);
    }
    ann = ann.on(app);
    await limited.close();
  });
});
