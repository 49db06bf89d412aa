import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import bcrypt from 'bcrypt';
import { type BetterAuthOptions, betterAuth } from 'better-auth';
import { makeSignature } from 'better-auth/crypto';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { Pool } from 'pg';
import { z } from 'zod';
import { announce, listen, readOptions } from '../servers/served-process.ts';

export interface PeerOptions {
  /** scrypt is the default of better-auth; bcrypt has cost 10. */
  hash: 'scrypt' | 'bcrypt';
  /** An empty database. */
  databaseUrl: string;
  users: number;
}

const optionsSchema: z.ZodType<PeerOptions> = z.strictObject({
  hash: z.enum(['scrypt', 'bcrypt']),
  databaseUrl: z.string(),
  users: z.int().positive(),
});

/** The ready message. Each user has a session, whose Cookie header is `cookie`. */
export interface BetterAuthReady {
  url: string;
  signInPath: string;
  sessionPath: string;
  users: { email: string; password: string; cookie: string }[];
}

const bcryptCost = 10;
const bcryptPassword = {
  hash: (password: string) => bcrypt.hash(password, bcryptCost),
  verify: ({ hash, password }: { hash: string; password: string }) => bcrypt.compare(password, hash),
};

const options = readOptions(optionsSchema);
const pool = new Pool({ connectionString: options.databaseUrl, max: 10 });
const server = createServer();
const url = await listen(server);
// The defaults, without the rate limit, which would refuse the load. By default the session is read from the database at
// each request, because the cookie cache is off.
const settings: BetterAuthOptions = {
  baseURL: url,
  secret: randomBytes(32).toString('base64url'),
  database: pool,
  emailAndPassword: {
    enabled: true,
    ...(options.hash === 'bcrypt' ? { password: bcryptPassword } : {}),
  },
  rateLimit: { enabled: false },
  logger: { disabled: true },
  telemetry: { enabled: false },
};
const { runMigrations } = await getMigrations(settings);
await runMigrations();
const auth = betterAuth(settings);
server.on('request', toNodeHandler(auth));

const ready: BetterAuthReady = {
  url,
  signInPath: '/api/auth/sign-in/email',
  sessionPath: '/api/auth/get-session',
  users: await createUsers(options.users),
};
announce(server, ready, () => pool.end());

/** Creates users with one password, which is hashed once, and a session for each. */
async function createUsers(count: number): Promise<BetterAuthReady['users']> {
  const { secret, authCookies, password: hasher, internalAdapter } = await auth.$context;
  const password = 'correct horse battery staple';
  const hash = await hasher.hash(password);
  const users: BetterAuthReady['users'] = [];
  for (let index = 0; index < count; index += 1) {
    const email = `user-${index}@example.org`;
    const user = { email, name: `User ${index}`, emailVerified: true };
    const { id: userId } = await internalAdapter.createUser(user);
    const account = { userId, accountId: userId, providerId: 'credential', password: hash };
    await internalAdapter.linkAccount(account);
    const { token } = await internalAdapter.createSession(userId);
    const value = encodeURIComponent(`${token}.${await makeSignature(token, secret)}`);
    users.push({ email, password, cookie: `${authCookies.sessionToken.name}=${value}` });
  }
  return users;
}
