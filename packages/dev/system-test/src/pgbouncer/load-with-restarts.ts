import { setTimeout as sleep } from 'node:timers/promises';
import { httpClient, type Stack } from '@tessera/stack';
import type { PgBouncer } from './pgbouncer-process.ts';

const people = 8;
const password = 'a password of the load';

/** The responses to the load. */
class Record {
  readonly acknowledged: string[] = [];
  readonly counts = new Map<string, number>();

  add(action: string, status: number | string): void {
    const key = `${action} ${status}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  get text(): string {
    return [...this.counts].map(([key, count]) => `${key} × ${count}`).join(', ');
  }

  /** Responses that are neither a success nor 503. */
  get unexpected(): string[] {
    return [...this.counts.keys()].filter((key) => !/ (200|201|503)$/.test(key));
  }
}

/**
 * Signs in, creates and lists issues and refreshes, while PgBouncer is killed and started again. Afterwards every
 * acknowledged issue exists with its event, and every request succeeds.
 * @returns the problems
 */
export async function loadWithRestarts(
  stack: Stack,
  pgBouncer: PgBouncer,
  restarts: number,
): Promise<string[]> {
  const record = new Record();
  let isOver = false;
  const emails = Array.from({ length: people }, (_, index) => `load-${index}@example.com`);
  for (const email of emails) await createIdentity(stack, email);
  const work = emails.map((email) => actUntil(stack, email, record, () => isOver));
  for (let number = 0; number < restarts; number += 1) {
    await sleep(1_500);
    await pgBouncer.kill();
    await sleep(500);
    await pgBouncer.start();
  }
  await sleep(3_000);
  isOver = true;
  await Promise.all(work);
  process.stdout.write(`  ${record.text}\n`);
  const problems = record.unexpected.map((key) => `unexpected: ${key}`);
  const { rows } = await stack.sql(
    'issues',
    `SELECT count(*)::int AS issues,
            count(*) FILTER (WHERE EXISTS (
              SELECT FROM events WHERE subject_id = issues.id AND type = 'issue.created'))::int AS events
       FROM issues WHERE id = ANY($1::uuid[])`,
    [record.acknowledged],
  );
  const wanted = record.acknowledged.length;
  if (wanted === 0) problems.push('no issue was acknowledged');
  if (rows[0].issues !== wanted || rows[0].events !== wanted)
    problems.push(`of ${wanted} acknowledged issues, ${rows[0].issues} exist, and ${rows[0].events} events`);
  const after = new Record();
  await act(stack, emails[0] ?? '', after);
  if (after.counts.has('create 503')) problems.push(`after the load: ${after.text}`);
  return problems;
}

// Repeated after a 503: processes that name statements get one when a statement is missing.
async function createIdentity(stack: Stack, email: string): Promise<void> {
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    const { status } = await stack.internal.post('/internal/identities', { email, password });
    if (status === 201) return;
    if (status !== 503) throw new Error(`${email} was not created: ${status}`);
    await sleep(100);
  }
  throw new Error(`${email} was not created`);
}

async function actUntil(stack: Stack, email: string, record: Record, isOver: () => boolean): Promise<void> {
  while (!isOver()) await act(stack, email, record);
}

// A session: sign-in, ten issues and lists, a refresh.
async function act(stack: Stack, email: string, record: Record): Promise<void> {
  const identity = httpClient(stack.urls.identity);
  const body = { grant_type: 'password', email, password };
  const tokens = await identity.post('/token', body);
  record.add('login', tokens.status);
  if (tokens.status !== 200) return sleep(100);
  const headers = { Authorization: `Bearer ${tokens.data.access_token}` };
  const issues = httpClient(`${stack.urls.issues}/api/v1/issues`, { headers });
  for (let number = 0; number < 10; number += 1) {
    const created = await issues.post('/', { title: 'Through PgBouncer' });
    record.add('create', created.status);
    if (created.status === 201) record.acknowledged.push(created.data.id);
    record.add('list', (await issues.get('/?page_size=5&search=PgBouncer')).status);
  }
  const refreshed = await identity.post('/token/refresh', { refresh_token: tokens.data.refresh_token });
  record.add('refresh', refreshed.status);
}
