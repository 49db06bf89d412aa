import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe('ten concurrent syncs of one issue in two processes', () => {
  let tracker: FakeTestTracker;
  let app: TestApp;
  let processes: IssuesService[];
  beforeAll(async () => {
    tracker = await startFakeTracker('gitlab');
    app = await startTestApp();
    const start = () => startIssuesService(app, trackerEnvironment(tracker, { SYNC_WORKERS: '2' }));
    processes = await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    await Promise.all(processes.map((one) => one.stop()));
    await app.close();
    await tracker.close();
  });

  it('create one issue in the tracker: one request succeeds and the others get 409', async () => {
    const ann = await aPerson(app);
    for (let round = 1; round <= 5; round += 1) {
      const { body: issue } = await ann.post('/api/v1/issues/', { title: `Round ${round}` }).expect(201);
      const path = `/api/v1/issues/${issue.id}/`;
      await Promise.all(processes.map((one) => ann.on(one).get(path).expect(200)));
      // The tracker is slow, so all ten requests overlap.
      tracker.slowDown();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => {
          const one = processes[index % 2];
          if (one === undefined) throw new Error('two processes');
          return ann
            .on(one)
            .post(`${path}sync/`)
            .then((answer) => answer);
        }),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
      for (const answer of answers.filter(({ status }) => status === 409)) {
        expectProblem(answer, 409, 'sync_in_progress');
        expect(answer.headers['retry-after']).toBe('1');
      }
      const there = tracker.fake.issues().filter(({ body }) => body.includes(`issues-sync:${issue.id}`));
      expect(there).toHaveLength(1);
    }
  });
});
