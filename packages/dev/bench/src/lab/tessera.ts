import { httpClient, type Service, type Stack, startStack } from '@tessera/stack';
import { fillIdentities, fillIssues, password } from './fill.ts';
import type { Scope } from './scope.ts';

/** Somebody signed in. */
export interface Person {
  id: string;
  email: string;
  accessToken: string;
}

/** Both services in production configuration, with people and issues. */
export interface Tessera {
  stack: Stack;
  people: Person[];
  /** Issues with comments, links and an assignee. */
  issueIds: string[];
  identity: Service;
  issues: Service;
  /** Started for the rows that compare two replicas with one. */
  secondIdentity: Service;
  secondIssues: Service;
}

interface TesseraOptions {
  adminUrl: string;
  rows: number;
  logDirectory: string;
  scope: Scope;
}

const most = '1000000';
// Every limit is on and does all of its work; only the point where it refuses is beyond what one machine's load is.
const environment = {
  identity: {
    METRICS_PORT: '0',
    SIGN_IN_PAIR_LIMIT: most,
    SIGN_IN_EMAIL_LIMIT: most,
    SIGN_IN_IP_LIMIT: most,
    HASH_QUEUE_MAX: '1000',
    HASH_QUEUE_TIMEOUT_MS: '60000',
    // So that nobody has to sign in again while a row is measured.
    ACCESS_TOKEN_TTL_SECONDS: '86400',
  },
  issues: {
    METRICS_PORT: '0',
    RATE_LIMIT_READS_PER_MINUTE: most,
    RATE_LIMIT_WRITES_PER_MINUTE: most,
    RATE_LIMIT_SYNCS_PER_MINUTE: most,
  },
};
const peopleCount = 32;
const issueCount = 100;

/** Starts, fills and signs in. What it starts ends with the scope. */
export async function startTessera({
  adminUrl,
  rows,
  logDirectory,
  scope,
}: TesseraOptions): Promise<Tessera> {
  const stack = await startStack({
    postgres: { adminUrl, stop: async () => undefined },
    replicas: { identity: 2, issues: 2 },
    environment,
    logDirectory,
  });
  scope.defer(() => stack.stop());
  const [identity, secondIdentity] = stack.identities;
  const [issues, secondIssues] = stack.issues;
  if (!identity || !secondIdentity || !issues || !secondIssues) throw new Error('there are two of each');
  await Promise.all([secondIdentity.stop(), secondIssues.stop()]);
  await fillIdentities(stack, rows);
  await fillIssues(stack, rows);
  const people: Person[] = [];
  for (let index = 0; index < peopleCount; index += 1) {
    people.push(await signIn(identity.url, 1 + Math.floor((index * rows) / peopleCount)));
  }
  const issueIds = await richIssueIds(stack);
  return { stack, people, issueIds, identity, issues, secondIdentity, secondIssues };
}

async function signIn(url: string, number: number): Promise<Person> {
  const email = `person-${number}@example.com`;
  const { accessToken } = await logIn(url, email);
  const [, payload = ''] = accessToken.split('.');
  return { id: JSON.parse(Buffer.from(payload, 'base64url').toString()).sub, email, accessToken };
}

/** Signs in once more. */
export async function logIn(
  url: string,
  email: string,
): Promise<{ accessToken: string; refreshToken: string }> {
  const answer = await httpClient(url).post('/token', { grant_type: 'password', email, password });
  if (answer.status !== 200) throw new Error(`${email} was not let in: ${answer.status}`);
  return { accessToken: answer.data.access_token, refreshToken: answer.data.refresh_token };
}

// From the whole table, not from a corner that is always in memory.
async function richIssueIds(stack: Stack): Promise<string[]> {
  const { rows } = await stack.sql(
    'issues',
    `SELECT id FROM issues WHERE comments_count > 0 AND assignee_id IS NOT NULL ORDER BY md5(id::text) LIMIT $1`,
    [issueCount],
  );
  return rows.map(({ id }: { id: string }) => id);
}
