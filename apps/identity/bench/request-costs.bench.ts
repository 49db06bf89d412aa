import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { first, startStack } from '@tessera/stack';

// Measures the cost of one request of each operation: CPU time of the process, growth of the tables and their indexes
// in bytes, and size of the response in bytes. Every value that a client stores has its maximum length.

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '400' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('pnpm --filter @tessera/identity bench:costs [--requests 400]');
  process.exit(0);
}
const count = Number(values.requests);
const parallel = 4;
const unreached = '1000000';

const stack = await startStack({
  replicas: { identity: 1, issues: 0 },
  environment: {
    identity: {
      LOG_LEVEL: 'info',
      HASH_QUEUE_MAX: '10000',
      HASH_QUEUE_TIMEOUT_MS: '60000',
      JANITOR_INTERVAL_SECONDS: '0',
      SIGN_IN_PAIR_LIMIT: unreached,
      SIGN_IN_EMAIL_LIMIT: unreached,
      SIGN_IN_IP_LIMIT: unreached,
    },
  },
});
const service = first(stack.identities);

interface Sent {
  method: string;
  path: string;
  body?: object;
  headers?: Record<string, string>;
}

interface Answer {
  status: number | undefined;
  text: string;
  bytes: number;
}

// Each character of this User-Agent takes two bytes in the database.
const longest = { 'User-Agent': 'ü'.repeat(400), 'X-Request-Id': 'r'.repeat(64) };

function send({ method, path, body, headers = {} }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const sent = request(
      `${service.url}${path}`,
      {
        method,
        headers: {
          ...longest,
          ...headers,
          ...(body === undefined
            ? {}
            : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const { length } = Buffer.concat(chunks);
          const head = response.rawHeaders.reduce((sum, part) => sum + part.length + 2, 17);
          resolve({
            status: response.statusCode,
            text: Buffer.concat(chunks).toString(),
            bytes: head + length,
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(text);
  });
}

const password = 'the password of the bench';
const internal = { 'X-Service-Token': stack.serviceToken };
let made = 0;
const newIdentity = () => {
  made += 1;
  const local = `${made}`.padStart(64, 'a');
  const domain = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(57)}.de`;
  return {
    email: `${local}@${domain}`,
    username: 'ü'.repeat(150),
    sso_provider: 'p'.repeat(64),
    sso_id: `${made}`.padStart(255, 's'),
  };
};
const create = async (more: object = {}) => {
  const body = { ...newIdentity(), ...more };
  const { status, text } = await send({
    method: 'POST',
    path: '/internal/identities',
    body,
    headers: internal,
  });
  if (status !== 201) throw new Error(text);
  return { ...body, id: String(JSON.parse(text).id) };
};
const grant = (email: string, given = password) => ({
  method: 'POST',
  path: '/token',
  body: { grant_type: 'password', email, password: given },
});
const refresh = (token: string) => ({
  method: 'POST',
  path: '/token/refresh',
  body: { refresh_token: token },
});
const signIn = async (email: string) => {
  const { status, text } = await send(grant(email));
  if (status !== 200) throw new Error(text);
  return JSON.parse(text) as { access_token: string; refresh_token: string };
};

const user = await create({ password });
const bearer = { Authorization: `Bearer ${(await signIn(user.email)).access_token}` };
const sessions = await Promise.all(Array.from({ length: count }, () => signIn(user.email)));
const tokens = sessions.map(({ refresh_token }) => refresh_token);
const others = await Promise.all(Array.from({ length: count }, () => create()));
const other = (index: number) => others[index]?.id ?? '';
let families: { id: string }[] = [];
const findFamilies = async () => {
  ({ rows: families } = await stack.sql(
    'identity',
    'SELECT id FROM token_families WHERE identity_id = $1 AND revoked_at IS NULL',
    [user.id],
  ));
};
const of = (path: string, method = 'GET') => ({ method, path, headers: internal });

const operations: {
  name: string;
  status: number;
  prepare?: () => Promise<void>;
  send: (index: number) => Sent;
}[] = [
  { name: 'getKeySet', status: 200, send: () => ({ method: 'GET', path: '/jwks' }) },
  { name: 'getDiscoveryDocument', status: 200, send: () => of('/.well-known/openid-configuration') },
  { name: 'signIn', status: 200, send: () => grant(user.email) },
  { name: 'signIn, wrong password', status: 401, send: () => grant(user.email, 'wrong') },
  { name: 'signIn, unknown e-mails', status: 401, send: (n) => grant(`${n}@example.com`, 'wrong') },
  { name: 'refreshTokens', status: 200, send: (n) => refresh(tokens[n] ?? '') },
  { name: 'refreshTokens, used token', status: 401, send: () => refresh(tokens[0] ?? '') },
  { name: 'refreshTokens, no token', status: 401, send: () => refresh('nonsense') },
  {
    name: 'introspectToken',
    status: 200,
    send: (n) => ({
      method: 'POST',
      path: '/internal/introspect',
      headers: internal,
      body: { token: tokens[n] },
    }),
  },
  { name: 'listSessions', status: 200, send: () => of(`/internal/identities/${user.id}/sessions?limit=200`) },
  {
    name: 'revokeToken',
    status: 200,
    send: (n) => ({ method: 'POST', path: '/token/revoke', body: { token: tokens[n] } }),
  },
  {
    name: 'revokeSession',
    status: 204,
    prepare: findFamilies,
    send: (n) => of(`/internal/identities/${user.id}/sessions/${families[n]?.id}`, 'DELETE'),
  },
  { name: 'getUserInfo', status: 200, send: () => ({ method: 'GET', path: '/userinfo', headers: bearer }) },
  { name: 'postUserInfo', status: 200, send: () => ({ method: 'POST', path: '/userinfo', headers: bearer }) },
  {
    name: 'getUserInfo, forged token',
    status: 401,
    send: () => ({
      method: 'GET',
      path: '/userinfo',
      headers: { Authorization: `${bearer.Authorization}A` },
    }),
  },
  { name: 'getIdentity', status: 200, send: () => of(`/internal/identities/${user.id}`) },
  {
    name: 'findIdentityByEmail',
    status: 200,
    send: () => of(`/internal/identities/by-email/${encodeURIComponent(user.email)}`),
  },
  {
    name: 'findIdentityBySso',
    status: 200,
    send: () => of(`/internal/identities/by-sso/lookup?provider=${user.sso_provider}&sso_id=${user.sso_id}`),
  },
  {
    name: 'createIdentity',
    status: 201,
    send: () => ({
      method: 'POST',
      path: '/internal/identities',
      headers: internal,
      body: { ...newIdentity(), password },
    }),
  },
  {
    name: 'updateIdentity',
    status: 200,
    send: (n) => ({
      method: 'PUT',
      path: `/internal/identities/${other(n)}`,
      headers: internal,
      body: { ...newIdentity(), password, is_active: true },
    }),
  },
  {
    name: 'revokeSessions',
    status: 204,
    send: (n) => of(`/internal/identities/${other(n)}/sessions`, 'DELETE'),
  },
  { name: 'deleteIdentity', status: 204, send: (n) => of(`/internal/identities/${other(n)}`, 'DELETE') },
  { name: 'listAuditEvents', status: 200, send: () => of('/internal/audit-events?limit=200') },
  { name: 'listIdentityEvents', status: 200, send: () => of('/internal/events') },
  { name: 'without service token', status: 403, send: () => ({ method: 'GET', path: '/internal/x' }) },
  { name: 'getLiveness', status: 200, send: () => ({ method: 'GET', path: '/healthz' }) },
  { name: 'getReadiness', status: 200, send: () => ({ method: 'GET', path: '/readyz' }) },
];

/** Returns the CPU time of all threads of the process in milliseconds. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${service.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function storedBytes(): Promise<number> {
  const { rows } = await stack.sql(
    'identity',
    `SELECT sum(pg_total_relation_size(oid))::float8 AS bytes FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  return rows[0].bytes;
}

const results: Record<string, object> = {};
for (const { name, status, prepare, send: sent } of operations) {
  await prepare?.();
  const [storedBefore, cpuBefore, startedAt] = [await storedBytes(), cpuMs(), performance.now()];
  let next = 0;
  let largest = 0;
  const workers = Array.from({ length: parallel }, async () => {
    for (let index = next++; index < count; index = next++) {
      const answer = await send(sent(index));
      if (answer.status !== status) throw new Error(`${name}: ${answer.status} ${answer.text}`);
      largest = Math.max(largest, answer.bytes);
    }
  });
  await Promise.all(workers);
  const elapsed = performance.now() - startedAt;
  results[name] = {
    'CPU ms': Number(((cpuMs() - cpuBefore) / count).toFixed(2)),
    'stored bytes': Math.round(((await storedBytes()) - storedBefore) / count),
    'answered bytes': largest,
    'a second': Math.round((count / elapsed) * 1000),
  };
}
console.table(results);
console.log(
  `${count} requests each, ${parallel} at a time, bcrypt cost 10, ${cpus().length} cores of ${cpus()[0]?.model}`,
);
await stack.stop();
