import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import express, { type Request } from 'express';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { createIssue, findIssue, listIssues } from './bare-issues.ts';
import { signLikeToken } from './rs256.ts';
import { announce, listen, readOptions } from './served-process.ts';

const { identityUrl, issuesUrl, publicUrl, poolMax, actorId } = readOptions(
  z.object({
    identityUrl: z.string(),
    issuesUrl: z.string(),
    /** The public URL of the issues service. */
    publicUrl: z.string(),
    poolMax: z.int(),
    /** The person who creates issues. */
    actorId: z.string(),
  }),
);
const identity = new pg.Pool({ connectionString: identityUrl, max: poolMax });
const issues = new pg.Pool({ connectionString: issuesUrl, max: poolMax });

// Express, pg and named statements: no authentication, no validation, no limit, no log, no optional header.
const app = express();
app.disable('x-powered-by');
app.disable('etag');

const userInfo = `
  SELECT id AS sub, email, is_verified AS email_verified, username AS preferred_username
    FROM identities WHERE id = $1 AND deleted_at IS NULL AND is_active`;

app.get('/userinfo/:id', async ({ params: { id } }, response) => {
  const { rows } = await identity.query({ name: 'user-info', text: userInfo, values: [id] });
  response.json(rows[0]);
});

// One statement, as in identity (refresh-token.repository.ts): further round trips would make it slower.
const rotation = `
  WITH rotated AS (
    UPDATE refresh_tokens t SET revoked_at = clock_timestamp(), replaced_by = $2::uuid
      FROM token_families f, identities i
     WHERE t.jti = $1 AND t.revoked_at IS NULL AND t.expires_at > now()
       AND f.id = t.family_id AND f.revoked_at IS NULL AND f.expires_at > now()
       AND i.id = f.identity_id AND i.deleted_at IS NULL AND i.is_active AND i.session_epoch = f.session_epoch
    RETURNING t.family_id, t.generation, f.expires_at, i.id
  ), successor AS (
    INSERT INTO refresh_tokens (jti, family_id, generation, expires_at)
    SELECT $2::uuid, family_id, generation + 1, expires_at FROM rotated
  ), touched AS (
    UPDATE token_families f SET last_used_at = now() FROM rotated WHERE f.id = rotated.family_id
  ), audited AS (
    INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
    SELECT 'refresh.rotated', 'success', 'user', id, '127.0.0.1', NULL, $2::uuid::text,
           jsonb_build_object('family', family_id)
      FROM rotated
  )
  SELECT id FROM rotated`;

app.post('/token/refresh', express.json(), async ({ body }: Request, response) => {
  const next = randomUUID();
  const [refreshToken, accessToken, { rowCount }] = await Promise.all([
    signLikeToken(),
    signLikeToken(),
    identity.query({ name: 'rotation', text: rotation, values: [body.refresh_token, next] }),
  ]);
  response.status(rowCount === 1 ? 200 : 401).json({
    access_token: accessToken.toString('base64url'),
    refresh_token: next,
    signature: refreshToken.toString('base64url'),
  });
});

app.get('/api/v1/issues/:id/', async ({ params: { id } }, response) => {
  response.json(await findIssue(issues, id, publicUrl));
});

app.get('/api/v1/issues/', async ({ query: { created_at, id } }, response) => {
  response.json(await listIssues(issues, id === undefined ? [50] : [50, created_at, id]));
});

app.post('/api/v1/issues/', express.json(), async ({ body }: Request, response) => {
  const { title, description, priority } = body;
  const issue = { id: uuidv7(), title, description, priority, reporterId: actorId, requestId: randomUUID() };
  response.status(201).json(await createIssue(issues, issue, publicUrl));
});

const server = createServer(app);
announce(server, { url: await listen(server) }, async () => {
  await Promise.all([identity.end(), issues.end()]);
});
