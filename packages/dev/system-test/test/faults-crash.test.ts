import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TokenResponse } from '@tessera/contracts';
import { first, httpClient, type Stack, startStack } from '@tessera/stack';
import { password, signUp, writer } from './support/clients.ts';
import { expectCompleteIssues, expectCompleteSessions, liveSuccessorsOf } from './support/completeness.ts';
import { Load, pause } from './support/load.ts';

const rounds = [1, 2, 3];
const sessions = Array.from({ length: 12 }, (_, index) => `person-${index}`);

describe('a service killed by SIGKILL', () => {
  let stack: Stack;
  let writerTokens: TokenResponse;

  beforeAll(async () => {
    stack = await startStack({
      environment: { identity: { LOG_LEVEL: 'warn' }, issues: { LOG_LEVEL: 'warn' } },
    });
    writerTokens = await signUp(stack, 'writer');
    for (const name of sessions) await signUp(stack, name);
  });
  afterAll(async () => {
    expect(await stack.stop()).toEqual([0, 0]);
  });

  const identity = () => httpClient(first(stack.identities).url, { timeout: 30_000 });
  const refresh = (refresh_token: string) => identity().post('/token/refresh', { refresh_token });

  async function signIn(name: string): Promise<string> {
    const answer = await identity().post('/token', {
      grant_type: 'password',
      email: `${name}@example.com`,
      password,
    });
    expect([name, answer.status]).toEqual([name, 200]);
    return answer.data.refresh_token;
  }

  it.each(rounds)(
    '(identity, during rotations, %d) leaves each session with its old token or the successor',
    async () => {
      const held: string[] = [];
      for (const name of sessions) held.push(await signIn(name));
      const load = new Load();
      let killed = false;
      sessions.forEach((_, index) => {
        load.add(async (client) => {
          if (killed) return pause();
          const next = await client.send('refresh', () => refresh(held[index] ?? ''));
          if (next?.status === 200) held[index] = next.data.refresh_token;
          else killed = true;
        });
      });
      await load.everyClient(3);
      await first(stack.identities).stop('SIGKILL');
      await load.stop();
      // Every response that arrived was a success.
      expect(new Set(load.outcomes.map(({ status }) => status).filter(Number.isInteger))).toEqual(
        new Set([200]),
      );
      await first(stack.identities).start();
      await expectCompleteSessions(stack);
      for (const token of held) {
        const { status } = await refresh(token);
        // The service had rotated it, and the response was lost.
        if (status !== 200) expect([status, await liveSuccessorsOf(stack, token)]).toEqual([401, 1]);
      }
      await expectCompleteSessions(stack);
    },
  );

  it.each(rounds)(
    '(issues, during writes, %d) leaves complete issues, each once, also if it was sent repeatedly',
    async () => {
      const created = new Set<string>();
      const load = new Load();
      for (let index = 0; index < 8; index += 1) load.add(writer(stack, writerTokens, created));
      await load.everyClient(4);
      await first(stack.issues).stop('SIGKILL');
      await expectCompleteIssues(stack, created);
      await first(stack.issues).start();
      await load.everyClient(4, ({ status }) => status === 201);
      await load.stop();
      await expectCompleteIssues(stack, created);
      const answered = load.outcomes.map(({ status }) => status).filter(Number.isInteger);
      expect(new Set(answered)).toEqual(new Set([200, 201]));
    },
  );
});
