import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import bcrypt from 'bcrypt';
import { type BetterAuthOptions, betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { Pool } from 'pg';
import { announce, listen, readOptions } from '../servers/served-process.ts';
import { createUsers } from './better-auth-users.ts';
import { type BetterAuthReady, betterAuthOptionsSchema } from './peer-messages.ts';

const bcryptCost = 10;
const bcryptPassword = {
  hash: (password: string) => bcrypt.hash(password, bcryptCost),
  verify: ({ hash, password }: { hash: string; password: string }) => bcrypt.compare(password, hash),
};

const options = readOptions(betterAuthOptionsSchema);
const pool = new Pool({ connectionString: options.databaseUrl, max: 10 });
const server = createServer();
const url = await listen(server);
// As it ships, but for the limit that would refuse the load: a session is read from the database each time, since its
// cookie cache is off unless asked for.
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
  users: await createUsers(await auth.$context, options.users),
};
announce(server, ready, () => pool.end());
