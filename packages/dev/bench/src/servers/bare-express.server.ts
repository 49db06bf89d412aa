import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import express, { type Response } from 'express';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { type Recipe, type RecipeStatement, valuesFor } from '../recording/recipe.ts';
import type { Recipes } from '../recording/record-services.ts';
import { listPlainly } from './plain-list.ts';
import { signLikeToken } from './rs256.ts';
import { announce, listen } from './served-process.ts';

/** What this server is told on its command line. */
export interface BareOptions {
  identityUrl: string;
  issuesUrl: string;
  recipes: Recipes;
  poolMax: number;
  /** Who creates issues. */
  actorId: string;
}

const options: BareOptions = JSON.parse(process.argv[2] ?? '');
const { recipes } = options;
const identity = new pg.Pool({ connectionString: options.identityUrl, max: options.poolMax });
const issues = new pg.Pool({ connectionString: options.issuesUrl, max: options.poolMax });

/** What any of the recorded statements answers. */
interface Answered extends pg.QueryResultRow {
  document: string;
}

// Nothing but Express, pg and the services' own statements: no check, no limit, no log, no header that is not needed.
const app = express();
app.disable('x-powered-by');
app.disable('etag');

app.get('/userinfo/:id', async ({ params: { id } }, response) => {
  const row = await replay(identity, recipes.userInfo, { id });
  response.json({
    sub: row.id,
    email: row.email,
    email_verified: row.isVerified,
    preferred_username: row.username,
  });
});

// The statement and the two signatures; a token is what the statement knows it by.
app.post('/token/refresh', express.json(), async ({ body: { refresh_token: jti } }, response) => {
  const nextJti = randomUUID();
  const [signature] = await Promise.all([
    signLikeToken(),
    replay(identity, recipes.refresh, { jti, nextJti, requestId: nextJti }),
  ]);
  const accessToken = (await signLikeToken()).toString('base64url');
  response.json({
    access_token: accessToken,
    refresh_token: nextJti,
    signature: signature.toString('base64url'),
  });
});

app.get('/issues/:id', async ({ params: { id } }, response) => {
  const row = await replay(issues, recipes.getIssue, { id });
  sendJson(response, row.document);
});

app.get('/issues', async (_request, response) => {
  response.json(await listPlainly(issues, 50));
});

app.post('/issues', express.json(), async ({ body: { title, description } }, response) => {
  const given = { id: uuidv7(), actorId: options.actorId, requestId: uuidv7(), title, description };
  const row = await replay(issues, recipes.createIssue, given);
  sendJson(response.status(201), row.document);
});

// The first rows of all statements together: a path may find a row with one and its document with the next.
async function replay(
  pool: pg.Pool,
  { statements }: Recipe,
  given: Record<string, string>,
): Promise<Answered> {
  let answered: Answered | undefined;
  for (const statement of statements) {
    const { rows } = await pool.query<Answered>({
      name: nameOf(statement),
      text: statement.text,
      values: valuesFor(statement, given),
    });
    if (rows[0] !== undefined) answered = { ...answered, ...rows[0] };
  }
  if (answered === undefined) throw new Error('no row');
  return answered;
}

const names = new Map<RecipeStatement, string>();

function nameOf(statement: RecipeStatement): string {
  const known = names.get(statement);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(statement.text).digest('hex').slice(0, 32);
  names.set(statement, name);
  return name;
}

function sendJson(response: Response, json: string): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(json);
}

const server = createServer(app);
announce(server, { url: await listen(server) }, async () => {
  await Promise.all([identity.end(), issues.end()]);
});
