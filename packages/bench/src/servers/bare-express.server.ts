import { createHash } from 'node:crypto';
import express, { type Response } from 'express';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { type Recipe, type RecipeStatement, valuesFor } from '../recording/recipe.ts';
import type { Recipes } from '../recording/record-services.ts';
import { listPlainly } from './plain-list.ts';

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

interface IssueRow {
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

app.get('/issues/:id', async ({ params: { id } }, response) => {
  const row: IssueRow = await replay(issues, recipes.getIssue, { id });
  sendJson(response, row.document);
});

app.get('/issues', async (_request, response) => {
  const row: { items: string } = await replay(issues, recipes.listIssues, {});
  sendJson(response, row.items);
});

app.get('/plain-issues', async (_request, response) => {
  response.json(await listPlainly(issues, 50));
});

app.post('/issues', express.json(), async ({ body: { title, description } }, response) => {
  const given = { id: uuidv7(), actorId: options.actorId, requestId: uuidv7(), title, description };
  const row: IssueRow = await replay(issues, recipes.createIssue, given);
  sendJson(response.status(201), row.document);
});

async function replay(pool: pg.Pool, { statements }: Recipe, given: Record<string, string>) {
  let row: pg.QueryResultRow | undefined;
  for (const statement of statements) {
    const { rows } = await pool.query({
      name: nameOf(statement),
      text: statement.text,
      values: valuesFor(statement, given),
    });
    row = rows[0] ?? row;
  }
  if (row === undefined) throw new Error('no row');
  return row as pg.QueryResultRow & IssueRow & { items: string };
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

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${address.port}` })}\n`);
});
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => process.exit());
process.stdin.resume().on('end', () => process.exit());
