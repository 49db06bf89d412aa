import { makeSignature } from 'better-auth/crypto';
import type { BetterAuthReady } from './peer-messages.ts';

/** What better-auth's context offers to make users and sessions with, as its own sign-up does. */
interface Context {
  secret: string;
  authCookies: { sessionToken: { name: string } };
  password: { hash: (password: string) => Promise<string> };
  internalAdapter: {
    createUser: (user: { email: string; name: string; emailVerified: boolean }) => Promise<{ id: string }>;
    linkAccount: (account: {
      userId: string;
      accountId: string;
      providerId: string;
      password: string;
    }) => Promise<unknown>;
    createSession: (userId: string) => Promise<{ token: string }>;
  };
}

const password = 'correct horse battery staple';

/** So many users with one password, hashed once, each with a session. */
export async function createUsers(context: Context, count: number): Promise<BetterAuthReady['users']> {
  const hash = await context.password.hash(password);
  const users: BetterAuthReady['users'] = [];
  for (let index = 0; index < count; index += 1) {
    const email = `user-${index}@example.org`;
    const cookie = await createUser(context, { email, name: `User ${index}`, hash });
    users.push({ email, password, cookie });
  }
  return users;
}

async function createUser(
  { internalAdapter, secret, authCookies }: Context,
  { email, name, hash }: { email: string; name: string; hash: string },
): Promise<string> {
  const { id } = await internalAdapter.createUser({ email, name, emailVerified: true });
  await internalAdapter.linkAccount({ userId: id, accountId: id, providerId: 'credential', password: hash });
  const { token } = await internalAdapter.createSession(id);
  const value = encodeURIComponent(`${token}.${await makeSignature(token, secret)}`);
  return `${authCookies.sessionToken.name}=${value}`;
}
