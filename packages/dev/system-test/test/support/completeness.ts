import { expect } from '@jest/globals';
import type { Stack } from '@tessera/stack';
import { decodeJwt } from 'jose';

/** Asserts that every confirmed issue exists, none exists twice, and each is complete. */
export async function expectCompleteIssues(stack: Stack, created: ReadonlySet<string>): Promise<void> {
  const { rows } = await stack.sql('issues', 'SELECT title FROM issues');
  const titles = rows.map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
  expect([...created].filter((title) => !titles.includes(title))).toEqual([]);
  const partial = await stack.sql(
    'issues',
    `SELECT i.title FROM issues i
      WHERE (SELECT count(*) FROM activity a WHERE a.issue_id = i.id AND a.kind = 'created') <> 1
         OR (SELECT count(*) FROM comments c WHERE c.issue_id = i.id) <> i.comments_count
         OR (SELECT count(*) FROM activity a WHERE a.issue_id = i.id AND a.kind = 'status_changed')
            <> CASE i.status WHEN 'OPEN' THEN 0 ELSE 1 END
         OR i.comments_count > 1`,
  );
  expect(partial.rows).toEqual([]);
}

/** Asserts that no session has two valid tokens, and that each replaced token has its successor. */
export async function expectCompleteSessions(stack: Stack): Promise<void> {
  const forked = await stack.sql(
    'identity',
    `SELECT family_id FROM refresh_tokens WHERE revoked_at IS NULL GROUP BY family_id HAVING count(*) > 1`,
  );
  expect(forked.rows).toEqual([]);
  const lost = await stack.sql(
    'identity',
    `SELECT jti FROM refresh_tokens t WHERE revoked_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM refresh_tokens n WHERE n.jti = t.replaced_by AND n.family_id = t.family_id)`,
  );
  expect(lost.rows).toEqual([]);
  const empty = await stack.sql(
    'identity',
    'SELECT id FROM token_families f WHERE NOT EXISTS (SELECT FROM refresh_tokens t WHERE t.family_id = f.id)',
  );
  expect(empty.rows).toEqual([]);
}

/** Returns the number of valid tokens that directly replaced a refresh token: 0 or 1. */
export async function liveSuccessorsOf(stack: Stack, token: string): Promise<number> {
  const { jti } = decodeJwt(token);
  const { rows } = await stack.sql(
    'identity',
    `SELECT n.jti FROM refresh_tokens t JOIN refresh_tokens n ON n.jti = t.replaced_by
      WHERE t.jti = $1 AND n.revoked_at IS NULL`,
    [jti],
  );
  return rows.length;
}
