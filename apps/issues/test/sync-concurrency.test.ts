import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { type FullApp, startFullApp } from './support/full-app.ts';
import { IdentityService } from './support/identity-service.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { signedIn } from './support/signed-in.ts';
import { type StandInSide, startStandInSide } from './support/stand-in-side.ts';
import { trackerEnvironment } from './support/synced-app.ts';

describe('ten syncs of one issue at once, over two processes', () => {
  let identity: IdentityService;
  let far: StandInSide;
  let app: FullApp;
  let processes: IssuesService[];
  beforeAll(async () => {
    identity = await IdentityService.start();
    far = await startStandInSide('gitlab');
    app = await startFullApp({ IDENTITY_URL: identity.url, JWT_ISSUER: identity.url });
    const start = () => startIssuesService(app.databaseUrl, identity.url, trackerEnvironment(far));
    processes = await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    await Promise.all(processes.map((one) => one.stop()));
    await app.close();
    await Promise.all([identity.down(), far.close()]);
  });

  it('create one issue there: one syncs, and the others are told to wait', async () => {
    const ann = await signedIn(app, identity);
    for (let round = 1; round <= 5; round += 1) {
      const { body: issue } = await ann
        .as('post', '/issues/')
        .send({ title: `Round ${round}` })
        .expect(201);
      const path = `/issues/${issue.id}/`;
      await Promise.all(processes.map((one) => ann.as('get', path, one).expect(200)));
      // Long enough that all ten ask while the first one is at work.
      far.slowDown();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => {
          const one = processes[index % 2];
          if (one === undefined) throw new Error('two processes');
          return ann.as('post', `${path}sync/`, one).then((answer) => answer);
        }),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
      for (const answer of answers.filter(({ status }) => status === 409)) {
        expectProblem(answer, 409, 'sync_in_progress');
        expect(answer.headers['retry-after']).toBe('1');
      }
      const there = far.standIn.issues().filter(({ body }) => body.includes(`issues-sync:${issue.id}`));
      expect(there).toHaveLength(1);
    }
  });
});
