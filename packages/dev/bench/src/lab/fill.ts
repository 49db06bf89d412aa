import type { Stack } from '@tessera/stack';
import { fillThroughDatabase } from '@tessera/stack/demo';
import bcrypt from 'bcrypt';
import { v7 as uuidv7 } from 'uuid';

/** The password of every identity. */
export const password = 'a password of the bench';
// The default of the service (BCRYPT_COST).
const cost = 10;
const batch = 50_000;

/** Inserts identities into the database of identity and into the mirror of issues, with the same ids in both. */
export async function fillIdentities(stack: Stack, count: number): Promise<void> {
  const hash = await bcrypt.hash(password, cost);
  for (let written = 0; written < count; written += batch) {
    const range = [written + 1, Math.min(written + batch, count)];
    await stack.sql('identity', insertIdentities, [...range, hash]);
    await stack.sql('issues', insertMirror, range);
  }
  await stack.sql('identity', 'VACUUM ANALYZE identities');
  await stack.sql('issues', 'VACUUM ANALYZE identity_mirror');
}

/** Inserts issues, each with the first entry of its history; every tenth has three comments and two links. */
export async function fillIssues(stack: Stack, count: number): Promise<void> {
  await fillThroughDatabase(stack.databases.issues.owner, count);
  // In one transaction, so that triggers update each issue once at most.
  await stack.sql('issues', [countComments, insertActivity, insertComments, insertLinks].join(';'));
  for (const table of ['issues', 'activity', 'comments', 'issue_links']) {
    await stack.sql('issues', `VACUUM ANALYZE ${table}`);
  }
}

/** Inserts uploaded files without an issue, of each person in turn, and returns their ids. Their bytes are not read. */
export async function unboundFiles(
  stack: Stack,
  personIds: readonly string[],
  count: number,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  await stack.sql('issues', insertFiles, [ids, personIds]);
  return ids;
}

// A UUID of version 4, derived from the number so that both databases have the same.
const idOf = `overlay(overlay(md5('person ' || n) placing '4' from 13) placing '8' from 17)::uuid`;

const insertIdentities = `
  INSERT INTO identities (id, email, email_canonical, username, password_hash, is_verified)
  SELECT ${idOf}, 'person-' || n || '@example.com', 'person-' || n || '@example.com', 'person-' || n, $3, true
    FROM generate_series($1::int, $2::int) AS n`;
// The service copies new identities, too, and may be first.
const insertMirror = `
  INSERT INTO identity_mirror (id, username, email, is_verified, as_of, source, checked_at)
  SELECT ${idOf}, 'person-' || n, 'person-' || n || '@example.com', true, now(), 'lookup', now()
    FROM generate_series($1::int, $2::int) AS n
      ON CONFLICT (id) DO NOTHING`;

const insertFiles = `
  INSERT INTO attachments (id, key, store, uploader_id, name, size, sha256, media_type, width, height, state, expires_at)
  SELECT id, gen_random_uuid(), 'database', ($2::uuid[])[1 + (n - 1) % cardinality($2::uuid[])], 'shot.png', 100000, sha256(''),
         'image/png', 640, 480, 'stored', now() + interval '7 days'
    FROM unnest($1::uuid[]) WITH ORDINALITY AS made (id, n)`;

const isRich = 'number % 10 = 0';
const insertActivity = `
  INSERT INTO activity (issue_id, actor_id, kind, at) SELECT id, reporter_id, 'created', created_at FROM issues`;
const insertComments = `
  INSERT INTO comments (id, issue_id, body, author_id, created_at, updated_at)
  SELECT gen_random_uuid(), id, 'A comment of three that were written for measurements.', reporter_id,
         created_at + n * interval '1 minute', created_at + n * interval '1 minute'
    FROM issues, generate_series(1, 3) AS n WHERE ${isRich}`;
const insertLinks = `
  INSERT INTO issue_links (id, issue_id, type, ref, title, created_by)
  SELECT gen_random_uuid(), id, 'invoice', number || '-' || n, 'An invoice of two', reporter_id
    FROM issues, generate_series(1, 2) AS n WHERE ${isRich}`;
const countComments = `UPDATE issues SET comments_count = 3 WHERE ${isRich}`;
