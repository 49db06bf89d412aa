// Measures the search for people over HTTP, letter by letter, among 500 and 100,000 people, with both built services in a
// temporary PostgreSQL: `pnpm bench:people [count…]`, after `npx pnpm@12 build`.
import { httpClient, startStack } from '@tessera/stack';
import pg from 'pg';
import { fillWithPeople } from '../test/support/many-issues.ts';

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [500, 100_000];
const samples = 200;
const password = 'a password of the bench';

const stack = await startStack();
const client = new pg.Client({ connectionString: stack.databases.issues.owner });
await client.connect();
const [user, staff] = [await signUp('user', false), await signUp('staff', true)];
const { data: issue } = await user.post('/api/v1/issues/', { title: 'x' });

for (const count of counts) {
  const { rows } = await client.query<{ n: number }>('SELECT count(*)::int AS n FROM identity_mirror');
  await fillWithPeople(client, count - (rows[0]?.n ?? 0));
  const { rows: people } = await client.query<{ username: string; email: string }>(
    `SELECT username, email FROM identity_mirror WHERE username LIKE '%.%' ORDER BY md5(id::text) LIMIT $1`,
    [samples],
  );
  const first = ({ username }: { username: string }) => username.split('.')[0] ?? '';
  console.log(`\namong ${count} people`.padEnd(44), ' p50 ms  p95 ms  max ms');
  for (const letters of [1, 2, 3])
    await measure(letters === 1 ? '1 letter' : `${letters} letters`, user, (person) =>
      first(person).slice(0, letters),
    );
  await measure('a first name', user, first);
  await measure('a first name, with an issue', user, first, `&issue=${issue.key}`);
  await measure('a username', user, ({ username }) => username);
  await measure('an e-mail, by staff', staff, ({ email }) => email);

  async function measure(
    name: string,
    { get }: typeof user,
    typed: (person: (typeof people)[number]) => string,
    more = '',
  ): Promise<void> {
    const times: number[] = [];
    for (const person of people) {
      const path = `/api/v1/users/?limit=20&search=${encodeURIComponent(typed(person))}${more}`;
      const startedAt = performance.now();
      const { status, data } = await get(path);
      times.push(performance.now() - startedAt);
      if (status !== 200 || data.length === 0) throw new Error(`${path}: ${status}`);
    }
    times.sort((one, other) => one - other);
    const figures = [0.5, 0.95, 1].map((share) => times[Math.ceil(share * times.length) - 1] ?? 0);
    console.log(name.padEnd(44), figures.map((time) => time.toFixed(1).padStart(7)).join(' '));
  }
}
await client.end();
await stack.stop();

/** Creates a user and signs in. @returns a client of issues with the user's token */
async function signUp(name: string, is_staff: boolean) {
  const email = `${name}@bench.example`;
  await stack.internal.post('/internal/identities', { email, password, is_staff });
  const body = { grant_type: 'password', email, password };
  const { data } = await httpClient(stack.urls.identity).post('/token', body);
  return httpClient(stack.urls.issues, { headers: { Authorization: `Bearer ${data.access_token}` } });
}
