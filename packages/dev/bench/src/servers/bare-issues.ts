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
  conflicts_count: 0,
  next_attempt_at: null,
};

const issueColumns = `
  i.id, i.number, i.title, i.description, i.priority, i.status, i.reporter_id, reporter.username AS reporter, i.assignee_id,
  assignee.username AS assignee, i.comments_count, i.attachments_count, i.version, i.created_at, i.updated_at, i.resolved_at, i.closed_at,
  i.due_on::text AS due_on, project.id AS project_id, project.key AS project_key, project.name AS project_name, project.visibility AS project_visibility`;
const joins = `
  JOIN projects project ON project.id = i.project_id
  LEFT JOIN identity_mirror reporter ON reporter.id = i.reporter_id
  LEFT JOIN identity_mirror assignee ON assignee.id = i.assignee_id`;
const defaultProjectKey = 'ISS';
const issueById = `SELECT ${issueColumns} FROM issues i ${joins} WHERE i.id = $1`;
const order = 'ORDER BY i.created_at DESC, i.id DESC LIMIT $1';
const firstPage = `SELECT ${issueColumns} FROM issues i ${joins} ${order}`;
const pageAfter = `SELECT ${issueColumns} FROM issues i ${joins} WHERE (i.created_at, i.id) < ($2, $3) ${order}`;
const linksOfIssues = 'SELECT * FROM issue_links WHERE issue_id = ANY($1) ORDER BY created_at, id';
const commentsOfIssue = `
  SELECT c.*, author.username AS author FROM comments c LEFT JOIN identity_mirror author ON author.id = c.author_id
   WHERE c.issue_id = $1 ORDER BY c.created_at, c.id`;
const insertIssue = `
  WITH i AS (
    INSERT INTO issues (id, title, description, priority, reporter_id, attachments_count)
    VALUES ($1, $2, $3, $4, $5, cardinality($7::uuid[])) RETURNING *
  ), file AS (
    UPDATE attachments a SET issue_id = i.id, expires_at = NULL FROM i WHERE a.id = ANY($7::uuid[]) AND a.issue_id IS NULL
    RETURNING a.*
  ), created AS (
    INSERT INTO activity (issue_id, actor_id, kind, request_id) VALUES ($1, $5, 'created', $6)
  )
  SELECT ${issueColumns}, (SELECT json_agg(file) FROM file) AS files FROM i ${joins}`;

/** Reads an issue with its links and comments: three plain statements at once, presented in JavaScript. */
export async function findIssue(pool: pg.Pool, id: string, publicUrl: string) {
  const [[issue], links, comments] = await Promise.all([
    select(pool, 'issue', issueById, [id]),
    select(pool, 'links', linksOfIssues, [[id]]),
    select(pool, 'comments', commentsOfIssue, [id]),
  ]);
  return issue === undefined ? undefined : present(issue, links, { comments, publicUrl });
}

/**
 * Reads a page of issues: one plain statement for the page, one for its links.
 * @param values the limit; for a further page also the time and the id of the previous page's last issue
 */
export async function listIssues(pool: pg.Pool, values: unknown[]) {
  const issues =
    values.length === 1
      ? await select(pool, 'first-page', firstPage, values)
      : await select(pool, 'page-after', pageAfter, values);
  const links = await select(pool, 'links', linksOfIssues, [issues.map(({ id }) => id)]);
  const linksByIssue = new Map<string, pg.QueryResultRow[]>();
  for (const link of links) {
    const known = linksByIssue.get(link.issue_id);
    if (known === undefined) linksByIssue.set(link.issue_id, [link]);
    else known.push(link);
  }
  return issues.map((issue) => present(issue, linksByIssue.get(issue.id) ?? []));
}

export interface BareIssue {
  id: string;
  title: string;
  description: string;
  priority: string;
  reporterId: string;
  requestId: string;
}

/** Creates an issue and the first entry of its history, and binds its files, in one statement. */
export async function createIssue(pool: pg.Pool, issue: BareIssue, publicUrl: string) {
  const { id, title, description, priority, reporterId, requestId } = issue;
  const files = Array.from(description.matchAll(/\battachment:([0-9a-f-]{36})/g), ([, file]) => file);
  const values = [id, title, description, priority, reporterId, requestId, files];
  const [created] = await select(pool, 'insert', insertIssue, values);
  return created === undefined ? undefined : present(created, [], { comments: [], publicUrl });
}

async function select(pool: pg.Pool, name: string, text: string, values: unknown[]) {
  return (await pool.query({ name, text, values })).rows;
}

function present(
  issue: pg.QueryResultRow,
  links: readonly pg.QueryResultRow[],
  single?: { comments: readonly pg.QueryResultRow[]; publicUrl: string },
) {
  const isListed = single === undefined;
  const description = isListed ? issue.description.slice(0, 2000) : issue.description;
  return {
    id: issue.id,
    number: issue.number,
    key: `${issue.project_key ?? defaultProjectKey}-${issue.number}`,
    project: {
      id: issue.project_id,
      key: issue.project_key ?? defaultProjectKey,
      name: issue.project_name,
      visibility: issue.project_visibility,
    },
    title: issue.title,
    description,
    description_truncated: description !== issue.description,
    priority: issue.priority,
    status: issue.status,
    allowed_transitions: transitions[issue.status],
    reporter: { id: issue.reporter_id, username: issue.reporter },
    assignee: issue.assignee_id === null ? null : { id: issue.assignee_id, username: issue.assignee },
    links: links.map(({ id, type, ref, title, url, relation, metadata, created_by, created_at }) => ({
      ...{ id, type, ref, title, url, relation, created_by, created_at },
      ...(isListed ? {} : { metadata }),
    })),
    links_count: links.length,
    due_on: issue.due_on,
    labels: [],
    external: null,
    sync: isListed ? withoutTracker : { ...withoutTracker, conflicts: [] },
    comments_count: issue.comments_count,
    ...(isListed ? {} : presentComments(issue, single)),
    version: issue.version,
    created_at: issue.created_at,
    updated_at: issue.updated_at,
    resolved_at: issue.resolved_at,
    closed_at: issue.closed_at,
  };
}

function presentComments(
  issue: pg.QueryResultRow,
  { comments, publicUrl }: { comments: readonly pg.QueryResultRow[]; publicUrl: string },
) {
  return {
    mentions: [],
    // The issues that are read have no files.
    attachments: (issue.files ?? []).map((file: pg.QueryResultRow) => presentFile(file, publicUrl)),
    attachments_count: issue.attachments_count,
    comments: comments.map(presentComment),
    comments_truncated: comments.length < issue.comments_count,
    comments_url: `${publicUrl}/api/v1/issues/${issue.id}/comments/`,
  };
}

function presentFile({ id, name, size, media_type, width, height }: pg.QueryResultRow, publicUrl: string) {
  return {
    ...{ id, name, size, media_type, width, height },
    url: `${publicUrl}/api/v1/attachments/${id}/content/`,
  };
}

function presentComment(comment: pg.QueryResultRow) {
  const { id, issue_id, body, author_id, author, origin, created_at, updated_at } = comment;
  const presentedAuthor = author_id === null ? null : { id: author_id, username: author };
  return {
    ...{ id, issue_id, body, author: presentedAuthor, origin, external: null, mentions: [] },
    ...{ attachments: [], attachments_count: 0 },
    created_at,
    updated_at,
  };
}
