import { embeddedCommentsMax } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import { listTransitions } from './issue-status.ts';

/** The columns of an issue that its document is made of: for RETURNING and for pages, `search` being large. */
export const issueColumns = Prisma.raw(
  'id, number, title, description, priority, status, reporter_id, assignee_id, version, rev, comments_count, created_at, updated_at, resolved_at, closed_at',
);

/** The people that a document of the row `i` names. */
export const issuePeople = Prisma.sql`
  LEFT JOIN identity_mirror reporter ON reporter.id = i.reporter_id
  LEFT JOIN identity_mirror assignee ON assignee.id = i.assignee_id`;

/** Relations that a statement has just written, in place of the tables, whose rows it cannot see yet. */
export interface DocumentSources {
  links?: Prisma.Sql;
  comments?: Prisma.Sql;
}

const links = Prisma.raw('issue_links');
const comments = Prisma.raw('comments');
const notSynced = JSON.stringify({
  state: 'not_configured',
  last_synced_at: null,
  last_error: null,
  conflicts: [],
  next_attempt_at: null,
});

/** RFC 3339, UTC, with milliseconds: the form in which every time leaves this service. */
export function sqlTime(column: string): Prisma.Sql {
  return Prisma.raw(`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);
}

/**
 * The wire form of an issue as an SQL expression over a row `i` and its `issuePeople`, the same for one issue and for
 * lists. Built where the rows are, a list costs the process a quarter of what rows and a presenter did.
 */
export class IssueDocument {
  readonly #members: Prisma.Sql;

  constructor(keyPrefix: string) {
    this.#members = Prisma.sql`
      i.id, i.number, ${keyPrefix}::text || '-' || i.number AS key, i.title, i.description, i.priority, i.status,
      ${transitionsOf} AS allowed_transitions,
      json_build_object('id', i.reporter_id, 'username', reporter.username) AS reporter,
      CASE WHEN i.assignee_id IS NOT NULL
           THEN json_build_object('id', i.assignee_id, 'username', assignee.username) END AS assignee`;
  }

  /** As it stands in a list. */
  summary(sources: DocumentSources = {}): Prisma.Sql {
    return this.#document(sources, Prisma.empty);
  }

  /** By itself: with the newest comments, oldest first. */
  full(sources: DocumentSources = {}): Prisma.Sql {
    return this.#document(sources, Prisma.sql`${commentsOf(sources.comments ?? comments)} AS comments,`);
  }

  #document(sources: DocumentSources, further: Prisma.Sql): Prisma.Sql {
    return Prisma.sql`
      (SELECT row_to_json(d)::text FROM (SELECT ${this.#members},
        ${linksOf(sources.links ?? links)} AS links, NULL AS external, ${Prisma.raw(`'${notSynced}'::json`)} AS sync,
        i.comments_count, ${further} i.version, ${sqlTime('i.created_at')} AS created_at,
        ${sqlTime('i.updated_at')} AS updated_at, ${sqlTime('i.resolved_at')} AS resolved_at,
        ${sqlTime('i.closed_at')} AS closed_at) d)`;
  }
}

const transitionsOf = Prisma.raw(
  `CASE i.status ${listTransitions()
    .map(([status, next]) => `WHEN '${status}' THEN '${JSON.stringify(next)}'::json`)
    .join(' ')} END`,
);

function linksOf(source: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`coalesce((
    SELECT json_agg(json_build_object('id', l.id, 'type', l.type, 'ref', l.ref, 'title', l.title, 'url', l.url,
             'relation', l.relation, 'metadata', l.metadata, 'created_by', l.created_by,
             'created_at', ${sqlTime('l.created_at')}) ORDER BY l.created_at, l.id)
      FROM ${source} l WHERE l.issue_id = i.id), '[]')`;
}

function commentsOf(source: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`coalesce((
    SELECT json_agg(json_build_object('id', c.id, 'issue_id', c.issue_id, 'body', c.body,
             'author', json_build_object('id', c.author_id, 'username', author.username), 'origin', c.origin,
             'created_at', ${sqlTime('c.created_at')}, 'updated_at', ${sqlTime('c.updated_at')})
             ORDER BY c.created_at, c.id)
      FROM (SELECT * FROM ${source} newest WHERE newest.issue_id = i.id
             ORDER BY newest.created_at DESC, newest.id DESC LIMIT ${Prisma.raw(String(embeddedCommentsMax))}) c
      LEFT JOIN identity_mirror author ON author.id = c.author_id), '[]')`;
}
