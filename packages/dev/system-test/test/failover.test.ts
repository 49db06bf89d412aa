import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IssueEvent, TokenResponse } from '@tessera/contracts';
import { type Stack, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import { type ReplicatedPostgres, startReplicatedPostgres } from '@tessera/stack/postgres';
import pg from 'pg';
import { issuesClient, reader, session, signUp, writer } from './support/clients.ts';
import { expectCompleteIssues, expectCompleteSessions } from './support/completeness.ts';
import { EventReaders } from './support/event-readers.ts';
import { StreamReader, WebhookSink } from './support/event-sinks.ts';
import { isDocumented, isSuccess, Load, tally } from './support/load.ts';

const short = { DATABASE_STATEMENT_TIMEOUT_MS: '1000', LOG_LEVEL: 'warn' };
const sends = { WEBHOOK_ALLOW_HTTP: 'on', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' };

describe('a standby that has everything takes over under load', () => {
  let postgres: ReplicatedPostgres;
  let stack: Stack;
  let readers: EventReaders | undefined;
  let stream: StreamReader | undefined;
  let webhooks: WebhookSink | undefined;
  const load = new Load();
  const created = new Set<string>();

  beforeAll(async () => {
    postgres = await startReplicatedPostgres({ isSynchronous: true });
    const environment = { ...short, EVENTS_STANDBYS: 'synchronous' };
    stack = await startStack({
      postgres,
      environment: { identity: environment, issues: { ...environment, ...sends } },
    });
    const tokens = await signUp(stack, 'ann', { is_staff: true });
    webhooks = await WebhookSink.start(stack, tokens);
    readers = new EventReaders(stack, tokens);
    stream = new StreamReader(stack, tokens);
    await eventually(() => stream?.isOpen);
    for (let index = 0; index < 4; index += 1) load.add(writer(stack, tokens, created));
    load.add(reader(stack, tokens));
    for (let index = 0; index < 2; index += 1) load.add(session(stack, 'ann'));
    await load.everyClient(3, isSuccess);
  });
  afterAll(async () => {
    await load.stop().catch(() => undefined);
    await Promise.all([readers?.stop(), stream?.stop()]);
    webhooks?.close();
    expect(await stack.stop()).toEqual([0, 0]);
  });

  it('with documented responses only, after the address led to the standby for a while', async () => {
    webhooks?.hold();
    await eventually(() => (webhooks?.waiting ?? 0) > 0);
    await postgres.killPrimary();
    // The service records these attempts while there is no database.
    webhooks?.resume();
    await load.everyClient(1, ({ status }) => status === 503);
    postgres.moveTo('standby');
    await load.everyClient(3, ({ status }) => status === 503);
    await postgres.promote();
    await load.everyClient(5, isSuccess);
    expect(tally(load.outcomes.filter((outcome) => !isDocumented(outcome)))).toEqual({});
  });

  it('without a lost or doubled write, event, webhook or session', async () => {
    await load.stop();
    await expectCompleteIssues(stack, created);
    await expectCompleteSessions(stack);
    // A family ends when a refresh token is used twice.
    const { rows: ended } = await stack.sql(
      'identity',
      'SELECT id FROM token_families WHERE revoked_at IS NOT NULL',
    );
    expect(ended).toEqual([]);
    await readers?.expectAllEvents();
    await readers?.expectEventsOf(created);
    const { rows } = await stack.sql('issues', 'SELECT id::int FROM events WHERE tx > 0 ORDER BY id');
    const all = rows.map(({ id }) => id);
    await eventually(() => (webhooks?.ids.length ?? 0) >= all.length);
    await eventually(async () => {
      const pending = "SELECT FROM webhook_deliveries WHERE state = 'pending' OR claim_id IS NOT NULL";
      return (await stack.sql('issues', pending)).rowCount === 0;
    });
    const sent = (webhooks?.ids ?? []).map((id) => Number(id.split('_').at(-1)));
    expect(sent.toSorted((one, other) => one - other)).toEqual(all);
    await eventually(() => new Set(stream?.ids).size >= all.length);
    expect(stream?.resets).toBe(0);
  });
});

// A standby that lacks the last changes: what was acknowledged is lost. Nothing else may go wrong.
describe('a standby that lacks the last changes takes over', () => {
  let postgres: ReplicatedPostgres;
  let stack: Stack;
  let tokens: TokenResponse;
  let webhooks: WebhookSink | undefined;
  /** More than the ids that a sequence takes at once. */
  const changes = 40;

  beforeAll(async () => {
    postgres = await startReplicatedPostgres({ isSynchronous: false });
    stack = await startStack({ postgres, environment: { identity: short, issues: { ...short, ...sends } } });
    tokens = await signUp(stack, 'ann', { is_staff: true });
    webhooks = await WebhookSink.start(stack, tokens);
  });
  afterAll(async () => {
    webhooks?.close();
    expect(await stack.stop()).toEqual([0, 0]);
  });

  it('and the texts are those of the database, and ids are new', async () => {
    const issues = issuesClient(stack, tokens);
    const create = async (title: string) => (await issues.post('/issues/', { title })).data.id;
    const rename = async (id: string, title: string) => {
      await eventually(async () => (await issues.patch(`/issues/${id}`, { title })).status === 200);
    };
    const readFeed = async (after?: string) => {
      const path = `/events/?limit=200${after === undefined ? '' : `&after=${after}`}`;
      const page = await eventually(
        () => issues.get(path),
        ({ status }) => status === 200,
      );
      return page.data as { events: IssueEvent[]; next: string; reset: boolean };
    };
    /** Waits for all events of the issue, and returns their ids. */
    const idsOf = async (id: string, count: number) => {
      const isOf = ({ data }: IssueEvent) => data.issue_id === id;
      const { events } = await eventually(
        () => readFeed(),
        (page) => page.events.filter(isOf).length >= count,
      );
      return events.filter(isOf).map((event) => event.id);
    };
    const [read, written] = [await create('Read'), await create('Written')];
    await onStandby(`SELECT FROM issues WHERE id IN ('${read}', '${written}')`, 2);
    await onStandby("SELECT FROM webhook_deliveries WHERE state = 'delivered'", 2);
    await postgres.detachStandby();

    await rename(read, 'Lost');
    for (let change = 1; change <= changes; change += 1) await rename(written, `Lost ${change}`);
    expect((await issues.get(`/issues/${read}`)).data.title).toBe('Lost');
    const list = await issues.get('/issues/?fields=title&ordering=created_at');
    expect(list.data[0].title).toBe('Lost');
    const lostIds = await idsOf(written, changes + 1);
    const { next } = await readFeed();
    await eventually(() => webhooks?.ids.length === changes + 3);
    const lostMessages = [...(webhooks?.ids ?? [])];

    await postgres.killPrimary();
    await postgres.promote();
    postgres.moveTo('standby');
    // The same revision again.
    await rename(read, 'Kept');
    for (let change = 1; change <= changes; change += 1) await rename(written, `Kept ${change}`);
    expect((await issues.get(`/issues/${read}`)).data.title).toBe('Kept');
    const headers = { 'If-None-Match': list.headers.etag };
    const listed = await issues.get('/issues/?fields=title&ordering=created_at', { headers });
    expect(listed.status).toBe(200);
    expect(listed.data[0].title).toBe('Kept');

    const after = await readFeed(next);
    expect(after).toMatchObject({ reset: true, events: [] });
    expect(await readFeed(after.next)).toMatchObject({ reset: false });
    const ids = (await idsOf(written, changes + 1)).slice(1);
    expect(ids.filter((id) => lostIds.includes(id))).toEqual([]);
    await eventually(() => webhooks?.ids.length === 2 * changes + 4);
    expect(new Set(webhooks?.ids).size).toBe(webhooks?.ids.length);
    expect(lostMessages.length).toBe(changes + 3);
  });

  async function onStandby(query: string, count: number): Promise<void> {
    const url = new URL(postgres.urls.standby);
    url.pathname = new URL(stack.databases.issues.owner).pathname;
    await eventually(async () => {
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      const { rowCount } = await client.query(query);
      await client.end();
      return rowCount === count;
    });
  }
});
