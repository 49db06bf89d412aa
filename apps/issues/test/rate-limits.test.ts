import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const limits = {
  RATE_LIMIT_READS_PER_MINUTE: '3',
  RATE_LIMIT_WRITES_PER_MINUTE: '4',
  RATE_LIMIT_SYNCS_PER_MINUTE: '2',
};

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp(limits);
});
afterAll(async () => {
  await app.close();
});

function create(person: TestPerson, at = app) {
  return person.on(at).post('/api/v1/issues/', { title: 'One more' });
}

/** Reads the remaining quota from the RateLimit header. */
function remaining(headers: Record<string, string>): number {
  return Number(/;r=(\d+);/.exec(headers.ratelimit ?? '')?.[1]);
}

describe('rate limits', () => {
  it('return the remaining quota with every response, including rejections', async () => {
    const ann = await aPerson(app);
    const first = await create(ann).expect(201);
    expect(first.headers).toMatchObject({
      'ratelimit-policy': '"writes";q=4;w=60',
      ratelimit: expect.stringMatching(/^"writes";r=3;t=([1-9]|[1-5]\d|60)$/),
    });
    const refused = await ann.post('/api/v1/issues/', {}).expect(422);
    expect(remaining(refused.headers)).toBe(2);
    const read = await ann.get('/api/v1/issues/').expect(200);
    expect(read.headers).toMatchObject({
      'ratelimit-policy': '"reads";q=3;w=60',
      ratelimit: expect.stringMatching(/^"reads";r=2;/),
    });
  });

  it('return 429 with Retry-After for a write above the quota and write nothing', async () => {
    const ann = await aPerson(app);
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(ann)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
    const refusals = answers.filter(({ status }) => status !== 201);
    for (const refusal of refusals) {
      expectProblem(refusal, 429, 'too_many_requests');
      expect(refusal.body.detail).toBe('At most 4 writes a minute.');
      expect(Number(refusal.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(refusal.headers['retry-after'])).toBeLessThanOrEqual(60);
      expect(remaining(refusal.headers)).toBe(0);
    }
    const [{ count } = {}] = await app.sql('SELECT count(*)::int FROM issues WHERE reporter_id = $1', [
      ann.id,
    ]);
    expect(count).toBe(4);
  });

  it('count each link of an issue as a write', async () => {
    const ann = await aPerson(app);
    const links = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ type: 'invoice', ref: `${count}-${index}` }));
    const created = await ann.post('/api/v1/issues/', { title: 'Linked', links: links(2) }).expect(201);
    expect(remaining(created.headers)).toBe(2);
    const refused = await ann.patch(`/api/v1/issues/${created.body.id}/`, { links: links(3) });
    expectProblem(refused, 429, 'too_many_requests');
    expect(refused.body.detail).toBe('At most 4 writes a minute. Each link counts as one.');
    // The links that were refused are not counted.
    expect(remaining(refused.headers)).toBe(1);
    const { body } = await ann.get(`/api/v1/issues/${created.body.id}/`).expect(200);
    expect(body.links.map(({ ref }: { ref: string }) => ref).sort()).toEqual(['2-0', '2-1']);
  });

  it('count each person that links make it look up, found or not', async () => {
    const ann = await aPerson(app);
    const { id } = (await create(ann).expect(201)).body;
    const links = [1, 2].map((number) => ({
      type: 'user',
      ref: { sso_provider: 'none', sso_id: `unknown-${number}` },
    }));
    const refused = await ann.patch(`/api/v1/issues/${id}/`, { links });
    expectProblem(refused, 422, 'unknown_identity');
    expect(remaining(refused.headers)).toBe(1);
  });

  it('count a body as one further write per 4 KiB', async () => {
    const ann = await aPerson(app);
    const send = (length: number) =>
      ann.post('/api/v1/issues/', { title: 'Long', description: 'x'.repeat(length) });
    expect(remaining((await send(4_000).expect(201)).headers)).toBe(3);
    expect(remaining((await send(8_192).expect(201)).headers)).toBe(0);
    const bob = await aPerson(app);
    expect(remaining((await bob.post('/api/v1/issues/', {}).expect(422)).headers)).toBe(3);
    const refused = await bob
      .post('/api/v1/issues/', { title: 'Long', description: 'x'.repeat(16_400) })
      .expect(429);
    expect(refused.body.detail).toBe(
      'At most 4 writes a minute. A body counts as a further one for each 4 KiB.',
    );
    expect(await app.sql('SELECT FROM issues WHERE reporter_id = $1', [bob.id])).toHaveLength(0);
    const cid = await aPerson(app);
    const large = await cid
      .post('/api/v1/issues/', { title: 'Long', description: 'x'.repeat(65_000) })
      .expect(201);
    expect(remaining(large.headers)).toBe(0);
  });

  it('count reads, writes and syncs separately for each identity', async () => {
    const [ann, bob] = [await aPerson(app), await aPerson(app)];
    const { id } = (await create(ann).expect(201)).body;
    const sync = () => ann.post(`/api/v1/issues/${id}/sync/`);
    for (let count = 0; count < 2; count += 1) expect((await sync()).status).not.toBe(429);
    const refused = await sync();
    expectProblem(refused, 429, 'too_many_requests');
    expect(refused.headers['ratelimit-policy']).toBe('"syncs";q=2;w=60');
    // An unsupported method counts as a read, also where all supported methods are syncs.
    expectProblem(await ann.delete('/api/v1/sync/backfill/'), 405, 'method_not_allowed');
    for (let count = 0; count < 2; count += 1) await ann.get('/api/v1/users/me/').expect(200);
    expectProblem(await ann.get('/api/v1/users/me/'), 429, 'too_many_requests');
    expectProblem(await ann.delete('/api/v1/sync/backfill/'), 429, 'too_many_requests');
    await create(ann).expect(201);
    await bob.get('/api/v1/users/me/').expect(200);
    await create(bob).expect(201);
  });

  it('use no database connection for reads', async () => {
    const ann = await aPerson(app);
    await ann.get('/api/v1/issues/').expect(200);
    expect(await app.sql('SELECT key FROM rate_limits WHERE key LIKE $1', [`%${ann.id}`])).toEqual([]);
  });

  it('are shared by all replicas', async () => {
    const ten = { ...limits, RATE_LIMIT_WRITES_PER_MINUTE: '10' };
    const one = await startTestApp(ten);
    const other = await startTestApp(ten, one);
    const ann = await aPerson(one);
    for (let count = 0; count < 9; count += 1) await create(ann, one).expect(201);
    // The other replica reads the shared count asynchronously; on its own it would allow ten.
    const allowed = await untilRefused(() => create(ann, other));
    expect(allowed).toBeLessThan(10);
    await other.close();
    await one.close();
  });

  it('are counted in memory when the database cannot store the counts', async () => {
    const alone = await startTestApp(limits);
    await alone.sql('DROP TABLE rate_limits');
    const ann = await aPerson(alone);
    for (let count = 0; count < 4; count += 1) await create(ann, alone).expect(201);
    expectProblem(await create(ann, alone), 429, 'too_many_requests');
    await alone.close();
  });

  it('are off when set to 0', async () => {
    const unlimited = await startTestApp();
    const ann = await aPerson(unlimited);
    for (let count = 0; count < 6; count += 1) {
      const { headers } = await create(ann, unlimited).expect(201);
      expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    }
    await unlimited.close();
  });

  it('are described in every operation that requires a token, and in no other', async () => {
    const { body } = await app.http.get('/api/openapi.json').expect(200);
    for (const item of Object.values<Record<string, DescribedOperation>>(body.paths)) {
      for (const method of ['get', 'post', 'put', 'patch', 'delete', 'options'] as const) {
        const operation = item[method];
        if (operation === undefined) continue;
        expect([operation.operationId, '429' in (operation.responses ?? {})]).toEqual([
          operation.operationId,
          (operation.security ?? []).length > 0,
        ]);
      }
    }
  });
});

interface DescribedOperation {
  operationId: string;
  responses?: object;
  security?: unknown[];
}

/** Counts the requests before the first 429. */
async function untilRefused(send: () => Promise<{ status: number }>): Promise<number> {
  for (let allowed = 0; ; allowed += 1) {
    if ((await send()).status === 429) return allowed;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
