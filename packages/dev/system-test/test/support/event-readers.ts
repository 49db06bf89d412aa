import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { IssuesClient } from '@tessera/client/issues';
import {
  type IdentityEvent,
  type IssueEvent,
  identityEventFeedSchema,
  type TokenResponse,
} from '@tessera/contracts';
import type { Stack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';

/**
 * Two readers of each feed, from its beginning, through outages: of issues by the client package, of identity by plain
 * HTTP.
 */
export class EventReaders {
  readonly #stack: Stack;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[];
  readonly #issues: IssueEvent[][] = [[], []];
  readonly #identities: IdentityEvent[][] = [[], []];

  constructor(stack: Stack, { access_token: token }: TokenResponse) {
    this.#stack = stack;
    const client = new IssuesClient({ baseUrl: stack.urls.issues, token, attempts: 1 });
    this.#loops = [
      ...this.#issues.map((seen) => this.#readIssues(client, seen)),
      ...this.#identities.map((seen) => this.#readIdentities(seen)),
    ];
    // stop() reports a reader that fails.
    for (const loop of this.#loops) loop.catch(() => undefined);
  }

  /** Asserts that each reader gets each committed event once, in the order of the feed. Call it after the last write. */
  async expectAllEvents(): Promise<void> {
    for (const [name, readers] of Object.entries({ identity: this.#identities, issues: this.#issues })) {
      const { rows } = await this.#stack.sql(
        name as 'identity' | 'issues',
        'SELECT id::int FROM events WHERE tx > 0 ORDER BY tx, id',
      );
      const isDone = () => readers.every((events) => events.length >= rows.length);
      await eventually(isDone);
      for (const events of readers) expect(events.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    }
  }

  /** Asserts that each issue has the events of its writer: one for its creation, its comment and its status. */
  async expectEventsOf(titles: ReadonlySet<string>): Promise<void> {
    const { rows } = await this.#stack.sql('issues', 'SELECT id, title FROM issues');
    const typesOf = new Map<string, string[]>(rows.map(({ id }) => [id, []]));
    for (const { type, data } of this.#issues[0] ?? []) typesOf.get(data.issue_id)?.push(type);
    expect(rows.filter(({ id }) => typesOf.get(id)?.[0] !== 'issue.created')).toEqual([]);
    const expected = 'issue.created,issue.commented,issue.status_changed';
    expect(rows.filter(({ id, title }) => titles.has(title) && String(typesOf.get(id)) !== expected)).toEqual(
      [],
    );
  }

  /** Returns the number of updates of an identity. */
  updatesOf(identityId: string): number {
    const [events = []] = this.#identities;
    return events.filter(({ type, data }) => type === 'identity.updated' && data.identity_id === identityId)
      .length;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loops);
  }

  async #readIssues(client: IssuesClient, seen: IssueEvent[]): Promise<void> {
    const { signal } = this.#stopping;
    try {
      for await (const { events, reset } of client.events({ limit: 20, intervalMs: 50, signal })) {
        expect(reset).toBe(false);
        seen.push(...events);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #readIdentities(seen: IdentityEvent[]): Promise<void> {
    let after = '';
    while (!this.#stopping.signal.aborted) {
      const answer = await this.#stack.internal
        .get(`/internal/events?limit=20${after}`, { timeout: 10_000 })
        .catch(() => undefined);
      if (answer?.status === 200) {
        const { events, next, reset } = identityEventFeedSchema.parse(answer.data);
        expect(reset).toBe(false);
        seen.push(...events);
        after = `&after=${next}`;
      }
      await sleep(50);
    }
  }
}
