import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { IdentityClient } from '@tessera/client/identity';
import { IssuesClient, Session } from '@tessera/client/issues';
import type { Stack } from '@tessera/stack';

/** A member of the staff, who resolves the issues of others. */
export class Colleague {
  readonly #issues: IssuesClient;

  private constructor(issues: IssuesClient) {
    this.#issues = issues;
  }

  static async signUp({ urls, serviceToken }: Pick<Stack, 'urls' | 'serviceToken'>): Promise<Colleague> {
    const user = {
      email: `colleague-${randomUUID()}@example.com`,
      password: 'a password of a colleague',
      is_staff: true,
    };
    await new IdentityClient({ baseUrl: urls.identity, serviceToken }).create(user);
    const session = await Session.signIn({ identityUrl: urls.identity, ...user });
    return new Colleague(new IssuesClient({ baseUrl: urls.issues, token: session }));
  }

  /** Waits for an issue of the reporter with a comment, at most a minute, and resolves it. */
  async resolveAfterComment(reporter: string): Promise<void> {
    const signal = AbortSignal.timeout(60_000);
    for (;;) {
      for await (const { key, comments_count } of this.#issues.list(
        { reporter, status: ['IN_PROGRESS'] },
        { signal },
      )) {
        if (comments_count === 0) continue;
        await this.#issues.changeStatus(key, { status: 'RESOLVED' }, { signal });
        return;
      }
      await sleep(50);
    }
  }
}
