import { randomUUID } from 'node:crypto';
import { httpClient, type Stack, startStack } from '@tessera/stack';
import type { AxiosInstance } from 'axios';
import { jtiOf } from '../lab/jti.ts';
import { type Recipe, recipeOf } from './recipe.ts';
import { type StatementRecorder, startStatementRecorder } from './statement-recorder.ts';

/** What the services tell their databases for each of the paths that a bare server is compared on. */
export interface Recipes {
  refresh: Recipe;
  userInfo: Recipe;
  getIssue: Recipe;
  createIssue: Recipe;
}

const password = 'a password of the bench';
const issue = { title: 'Recorded title', description: 'Recorded description', priority: 'URGENT' };

/**
 * Sends each request through the running services and writes down what reaches PostgreSQL, so that the bare servers do
 * the very same when the services change. In databases of their own, which go with the server.
 */
export async function recordServices(adminUrl: string): Promise<Recipes> {
  const recorder = await startStatementRecorder(adminUrl);
  try {
    const stack = await startStack({
      postgres: { adminUrl: recorder.url, stop: async () => undefined },
      environment: { identity: { JANITOR_INTERVAL_SECONDS: '0' }, issues: { JANITOR_INTERVAL_SECONDS: '0' } },
    });
    try {
      return await recordAll(stack, recorder);
    } finally {
      await stack.stop();
    }
  } finally {
    await recorder.close();
  }
}

async function recordAll(stack: Stack, recorder: StatementRecorder): Promise<Recipes> {
  const email = 'recorded@example.com';
  const identity = await stack.internal.post('/internal/identities', { email, password });
  const anonymous = httpClient(stack.urls.identity);
  const login = await anonymous.post('/token', { grant_type: 'password', email, password });
  const headers = { Authorization: `Bearer ${login.data.access_token}` };
  const userInfo = httpClient(stack.urls.identity, { headers });
  const issues = httpClient(`${stack.urls.issues}/api/v1/issues`, { headers });
  // What only the first request does, such as learning of a person, is done here.
  const first = await create(issues, randomUUID());
  await issues.get(`/${first}/`);
  await userInfo.get('/userinfo');
  const actorId: string = identity.data.id;
  const requestId = randomUUID();
  let id = '';
  const createStatements = await recorder.record(async () => {
    id = await create(issues, requestId);
  });
  const presented: string = login.data.refresh_token;
  let successor = '';
  const refreshStatements = await recorder.record(async () => {
    successor = await refresh(anonymous, presented, requestId);
  });
  const { title, description } = issue;
  const unseen = await copyUnseen(stack, first);
  return {
    refresh: recipeOf(refreshStatements, { jti: jtiOf(presented), nextJti: jtiOf(successor), requestId }),
    userInfo: recipeOf(await record(recorder, userInfo, '/userinfo'), { id: actorId }),
    getIssue: recipeOf(await record(recorder, issues, `/${unseen}/`), { id: unseen }),
    createIssue: recipeOf(createStatements, { id, actorId, requestId, title, description }),
  };
}

async function create(issues: AxiosInstance, requestId: string): Promise<string> {
  const { status, data } = await issues.post('/', issue, { headers: { 'X-Request-Id': requestId } });
  if (status !== 201) throw new Error(`an issue was not created: ${status}`);
  return data.id;
}

async function refresh(identity: AxiosInstance, presented: string, requestId: string): Promise<string> {
  const headers = { 'X-Request-Id': requestId };
  const { status, data } = await identity.post('/token/refresh', { refresh_token: presented }, { headers });
  if (status !== 200) throw new Error(`a refresh token was not traded: ${status}`);
  return data.refresh_token;
}

// The service remembers documents: a recipe is for one that it has to make, and so of an issue that did not pass through
// it.
async function copyUnseen(stack: Stack, id: string): Promise<string> {
  const { rows } = await stack.sql('issues', insertCopy, [id]);
  return rows[0].id;
}

const insertCopy = `
  INSERT INTO issues (id, title, description, priority, reporter_id)
  SELECT gen_random_uuid(), title, description, priority, reporter_id FROM issues WHERE id = $1 RETURNING id`;

function record(recorder: StatementRecorder, client: AxiosInstance, path: string) {
  return recorder.record(async () => {
    const { status } = await client.get(path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}`);
  });
}
