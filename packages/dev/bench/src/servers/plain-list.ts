import type pg from 'pg';

const transitions: Record<string, string[]> = {
  OPEN: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
  IN_PROGRESS: ['OPEN', 'RESOLVED', 'CLOSED'],
  RESOLVED: ['CLOSED', 'REOPENED'],
  CLOSED: ['REOPENED'],
  REOPENED: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
};
const withoutTracker = {
  state: 'not_configured',
  last_synced_at: null,
  last_result: null,
  last_error: null,
  moved_to: null,
  conflicts: [],
  next_attempt_at: null,
};

/** The newest issues as a list is usually made: rows by pg, a document of each in JavaScript. */
export async function listPlainly(pool: pg.Pool, limit: number) {
  const { rows } = await pool.query({ name: 'page', text: page, values: [limit] });
  const ids = rows.map(({ id }) => id);
  const links = await pool.query({ name: 'links', text: linksOf, values: [ids] });
  const linksByIssue = new Map<string, pg.QueryResultRow[]>();
  for (const link of links.rows) {
    const known = linksByIssue.get(link.issue_id);
    if (known === undefined) linksByIssue.set(link.issue_id, [link]);
    else known.push(link);
  }
  return rows.map((row) => present(row, linksByIssue.get(row.id) ?? []));
}

const page = `
  SELECT i.id, i.number, i.title, i.description, i.priority, i.status, i.reporter_id, reporter.username AS reporter,
         i.assignee_id, assignee.username AS assignee, i.comments_count, i.version, i.created_at, i.updated_at,
         i.resolved_at, i.closed_at
    FROM issues i
    LEFT JOIN identity_mirror reporter ON reporter.id = i.reporter_id
    LEFT JOIN identity_mirror assignee ON assignee.id = i.assignee_id
   ORDER BY i.created_at DESC, i.id DESC LIMIT $1`;
const linksOf = 'SELECT * FROM issue_links WHERE issue_id = ANY($1) ORDER BY created_at, id';

function present(row: pg.QueryResultRow, links: readonly pg.QueryResultRow[]) {
  return {
    id: row.id,
    number: row.number,
    key: `ISS-${row.number}`,
    title: row.title,
    description: row.description,
    priority: row.priority,
    status: row.status,
    allowed_transitions: transitions[row.status],
    reporter: { id: row.reporter_id, username: row.reporter },
    assignee: row.assignee_id === null ? null : { id: row.assignee_id, username: row.assignee },
    links: links.map(({ id, type, ref, title, url, relation, metadata, created_by, created_at }) => ({
      ...{ id, type, ref, title, url, relation, metadata, created_by, created_at },
    })),
    external: null,
    sync: withoutTracker,
    comments_count: row.comments_count,
    version: row.version,
    created_at: row.created_at,
    updated_at: row.updated_at,
    resolved_at: row.resolved_at,
    closed_at: row.closed_at,
  };
}
