import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IssuesClient } from '@tessera/client/issues';
import type { TokenResponse } from '@tessera/contracts';
import { first, type Stack, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import { signUp, writer } from './support/clients.ts';
import { EventReaders } from './support/event-readers.ts';
import { Load } from './support/load.ts';

// `EVENT_FAULT_ROUNDS=10` for a long run.
const rounds = Number(process.env.EVENT_FAULT_ROUNDS ?? 1);
const writers = 3;
const fields = 'id, username, email, is_active, is_verified, is_staff, is_superuser';

describe('two replicas of each service that write events', () => {
  let stack: Stack;
  let tokens: TokenResponse;
  let readers: EventReaders | undefined;
  const load = new Load();
  const created = new Set<string>();

  beforeAll(async () => {
    // The cleanup job deletes events after a day.
    const environment = { LOG_LEVEL: 'warn', EVENTS_RETENTION_DAYS: '1', JANITOR_INTERVAL_SECONDS: '1' };
    stack = await startStack({
      replicas: { identity: 2, issues: 2 },
      behindOneAddress: true,
      environment: { identity: environment, issues: environment },
    });
    tokens = await signUp(stack, 'ann');
    readers = new EventReaders(stack, tokens);
  });
  afterAll(async () => {
    await load.stop().catch(() => undefined);
    await readers?.stop();
    expect(await stack.stop()).toEqual([0, 0, 0, 0]);
  });

  it('lose, repeat and reorder none while a process of each service is killed; the mirror follows', async () => {
    const names = Array.from({ length: 3 }, (_, index) => `renamed-${index}`);
    for (const name of names) await signUp(stack, name);
    const { rows } = await stack.sql('identity', 'SELECT id FROM identities WHERE username = ANY ($1)', [
      names,
    ]);
    const changes = new Map<string, number>();
    for (const { id } of rows) {
      load.add(async (client) => {
        const count = (changes.get(id) ?? 0) + 1;
        // A repeated change has no second event.
        const change = { display_name: `Name ${count}` };
        await client.sendUntilSuccess('change', () =>
          stack.internal.put(`/internal/identities/${id}`, change, { timeout: 10_000 }),
        );
        changes.set(id, count);
      });
    }
    for (let index = 0; index < writers; index += 1) load.add(writer(stack, tokens, created));
    for (let round = 0; round < rounds; round += 1) {
      for (const replicas of [stack.identities, stack.issues]) {
        const service = replicas[round % 2] ?? first(replicas);
        await load.everyClient(5);
        await service.stop('SIGKILL');
        await load.everyClient(5, ({ status }) => status === 200 || status === 201);
        await service.start();
      }
    }
    await load.everyClient(5);
    await load.stop();

    await readers?.expectAllEvents();
    await readers?.expectEventsOf(created);
    expect(created.size).toBeGreaterThan(writers);
    for (const [id, count] of changes) expect([id, readers?.updatesOf(id)]).toEqual([id, count]);
    const mirrorOf = async (service: 'identity' | 'issues', table: string) =>
      JSON.stringify(
        (await stack.sql(service, `SELECT ${fields}, display_name FROM ${table} ORDER BY id`)).rows,
      );
    const identities = await mirrorOf('identity', 'identities');
    await eventually(
      () => mirrorOf('issues', 'identity_mirror'),
      (mirror) => mirror === identities,
    );
    // The next test deletes events that they may not have read.
    await readers?.stop();
  }, 600_000);

  it('tell a consumer that was away for a day to read all again, and lose nothing meanwhile', async () => {
    const issues = new IssuesClient({ baseUrl: stack.urls.issues, token: tokens.access_token });
    const copy = new Map<string, string>();
    let saved: string | undefined;
    let meanwhile = async (): Promise<void> => undefined;
    const store = async (key: string, title: string): Promise<void> => {
      copy.set(key, title);
      await meanwhile();
    };
    // The consumer of the README.
    const readAll = async () => {
      for await (const { id } of issues.list({ ordering: ['created_at'], limit: 10 })) {
        const { key, title } = await issues.get(id);
        await store(key, title);
      }
    };
    const follow = async (isDone: () => boolean) => {
      if (saved === undefined) await readAll();
      for await (const { events, next, reset } of issues.events({ after: saved, intervalMs: 50 })) {
        if (reset) await readAll();
        for (const id of new Set(events.map(({ data }) => data.issue_id))) {
          const { key, title } = await issues.get(id);
          await store(key, title);
        }
        saved = next;
        if (isDone()) return;
      }
    };
    const before = await issues.create({ title: 'Before' });
    await follow(() => copy.get(before.key) === 'Before');

    await issues.update(before.key, { title: 'While away', version: before.version });
    const away = await issues.create({ title: 'New while away' });
    await issues.addComment(away.key, 'The last event.');
    await stack.sql('issues', "UPDATE events SET at = at - interval '25 hours'");
    const isClean = async () => (await stack.sql('issues', 'SELECT FROM events')).rows.length === 1;
    await eventually(isClean);

    let during = { key: '' };
    meanwhile = async () => {
      meanwhile = async () => undefined;
      const [listed = ''] = copy.keys();
      const { version } = await issues.get(listed);
      await issues.update(listed, { title: 'Changed after it was listed', version });
      during = await issues.create({ title: 'During the copy' });
    };
    const size = copy.size;
    await follow(() => copy.has(during.key) && [...copy.values()].includes('Changed after it was listed'));
    expect(copy.size).toBe(size + 2);
    for await (const { key, title } of issues.list()) expect([key, copy.get(key)]).toEqual([key, title]);
  });

  it('join what an actor does to many watchers into "n more", which both replicas show', async () => {
    const [busy, watcher] = [await signUp(stack, 'busy'), await signUp(stack, 'watcher')];
    const clients = ({ access_token: token }: TokenResponse) =>
      stack.issues.map(({ url }) => new IssuesClient({ baseUrl: url, token }));
    const [writers, watchers] = [clients(busy), clients(watcher)];
    const { id } = await first(writers).create({ title: 'Watched by many' });
    await first(watchers).watch(id);
    await stack.sql(
      'issues',
      'INSERT INTO issue_watchers (issue_id, user_id) SELECT $1, gen_random_uuid() FROM generate_series(1, 4000)',
      [id],
    );
    const shownBy = async (client: IssuesClient) => {
      const counts: number[] = [];
      for await (const { more_count } of client.notifications()) counts.push(more_count);
      return counts;
    };
    let sent = 0;
    const isJoined = async () => (await shownBy(first(watchers))).some((more) => more > 0);
    while (!(await isJoined())) {
      await Promise.all(writers.map((client) => client.addComment(id, 'One more')));
      sent += writers.length;
    }
    for (const client of watchers)
      await eventually(
        () => shownBy(client),
        (shown) => shown.reduce((sum, more) => sum + 1 + more, 0) === sent,
      );
    expect((await shownBy(first(watchers))).length).toBeLessThan(sent);
  });
});
