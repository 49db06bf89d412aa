import { Session } from '@tessera/client/issues';
import type { TokenResponse } from '@tessera/contracts';
import { type Service, type Stack, startStack } from '@tessera/stack';
import { decodeJwt } from 'jose';
import { fillIdentities, fillIssues, password } from './fill.ts';
import type { Scope } from './scope.ts';

/** A person with an access token. */
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
  /** The second replicas, which run only for the rows that compare two replicas with one. */
  secondIdentity: Service;
  secondIssues: Service;
}

interface TesseraOptions {
  adminUrl: string;
  rows: number;
  checkout: string | undefined;
  logDirectory: string;
  scope: Scope;
}

const unreached = '1000000';
// Every limit counts each request. Only the thresholds are too high to be reached by the load of one machine.
const environment = {
  identity: {
    METRICS_PORT: '0',
    HOSTED_SIGN_IN: 'on',
    SIGN_IN_PAIR_LIMIT: unreached,
    SIGN_IN_EMAIL_LIMIT: unreached,
    SIGN_IN_IP_LIMIT: unreached,
    RATE_LIMIT_TOKENS_PER_MINUTE: unreached,
    RATE_LIMIT_READS_PER_MINUTE: unreached,
    HASH_QUEUE_MAX: '1000',
    HASH_QUEUE_TIMEOUT_MS: '60000',
    // No token expires during a run.
    ACCESS_TOKEN_TTL_SECONDS: '86400',
  },
  issues: {
    METRICS_PORT: '0',
    RATE_LIMIT_READS_PER_MINUTE: unreached,
    RATE_LIMIT_WRITES_PER_MINUTE: unreached,
    RATE_LIMIT_SYNCS_PER_MINUTE: unreached,
  },
};
const peopleCount = 32;
const issueCount = 100;

/** Starts both services, fills their databases and logs people in. The services stop when the scope closes. */
export async function startTessera({
  adminUrl,
  rows,
  checkout,
  logDirectory,
  scope,
}: TesseraOptions): Promise<Tessera> {
  const stack = await startStack({
    postgres: { adminUrl, stop: async () => undefined },
    replicas: { identity: 2, issues: 2 },
    started: 1,
    environment,
    checkout,
    logDirectory,
  });
  scope.defer(() => stack.stop());
  const [identity, secondIdentity] = stack.identities;
  const [issues, secondIssues] = stack.issues;
  if (!identity || !secondIdentity || !issues || !secondIssues) throw new Error('a replica is missing');
  await fillIdentities(stack, rows);
  await fillIssues(stack, rows);
  const people: Person[] = [];
  for (let index = 0; index < peopleCount; index += 1) {
    people.push(await signIn(identity.url, 1 + Math.floor((index * rows) / peopleCount)));
  }
  const issueIds = await selectIssueIds(stack);
  return { stack, people, issueIds, identity, issues, secondIdentity, secondIssues };
}

async function signIn(url: string, number: number): Promise<Person> {
  const email = `person-${number}@example.com`;
  const { access_token: accessToken } = await logIn(url, email);
  return { id: decodeJwt(accessToken).sub ?? '', email, accessToken };
}

/** Creates a session and returns its tokens. */
export async function logIn(identityUrl: string, email: string): Promise<TokenResponse> {
  return (await Session.signIn({ identityUrl, email, password })).tokens;
}

// Spread over the whole table, because a few neighbouring pages would always be in memory.
async function selectIssueIds(stack: Stack): Promise<string[]> {
  const { rows } = await stack.sql(
    'issues',
    `SELECT id FROM issues WHERE comments_count > 0 AND assignee_id IS NOT NULL ORDER BY md5(id::text) LIMIT $1`,
    [issueCount],
  );
  return rows.map(({ id }: { id: string }) => id);
}
