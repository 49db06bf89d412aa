import { embeddedCommentsMax } from '@tessera/contracts';
import { Prisma } from '../generated/prisma/client.ts';
import { listTransitions } from '../issue-status/issue-status.ts';

/** The columns of an issue that its document is made of: for RETURNING and for pages, `search` being large. */
export const issueColumns = Prisma.raw(
  'id, number, title, description, priority, status, reporter_id, assignee_id, version, rev, comments_count, created_at, updated_at, resolved_at, closed_at',
);

const people = Prisma.sql`
  LEFT JOIN identity_mirror reporter ON reporter.id = i.reporter_id
  LEFT JOIN identity_mirror assignee ON assignee.id = i.assignee_id`;

/** Who wrote the comment `c`, with `author` being that person's row. */
export const commentAuthor = Prisma.sql`CASE WHEN c.author_id IS NOT NULL
  THEN json_build_object('id', c.author_id, 'username', author.username) END`;

/** Where the comment `c` comes from, if not from here. */
export const commentSource = Prisma.sql`CASE WHEN c.origin <> 'local' THEN (
  SELECT json_build_object('author', tc.external_author, 'created_at', ${sqlTime('tc.external_created_at')})
    FROM tracker_comments tc WHERE tc.comment_id = c.id AND tc.provider = c.origin LIMIT 1) END`;

/** Relations that a statement has just written, in place of the tables, whose rows it cannot see yet. */
export interface DocumentSources {
  links?: Prisma.Sql;
  comments?: Prisma.Sql;
}

const links = Prisma.raw('issue_links');
const comments = Prisma.raw('comments');
const withoutTracker = Prisma.raw(
  `NULL AS external, '${JSON.stringify({
    state: 'not_configured',
    last_synced_at: null,
    last_result: null,
    last_error: null,
    moved_to: null,
    conflicts: [],
    next_attempt_at: null,
  })}'::json AS sync`,
);
// A statement does not see the history that it writes, but it sees its own `updated_at`.
const withTracker = Prisma.sql`
  CASE WHEN tracker.remote_id IS NOT NULL
       THEN json_build_object('provider', tracker.provider, 'id', tracker.remote_id, 'key', tracker.remote_key,
              'url', tracker.remote_url, 'state', tracker.remote_state) END AS external,
  json_build_object(
    'state', CASE WHEN tracker.last_error IS NOT NULL AND tracker.next_attempt_at IS NOT NULL THEN 'retrying'
                  WHEN tracker.last_error IS NOT NULL THEN 'failed'
                  WHEN tracker.last_synced_at IS NULL THEN 'not_synced'
                  WHEN i.updated_at > tracker.last_synced_at THEN 'changed'
                  WHEN EXISTS (SELECT FROM activity a
                                WHERE a.issue_id = i.id AND a.id > coalesce(tracker.synced_activity_id, 0)
                                  AND a.origin = 'local') THEN 'changed' ELSE 'synced' END,
    'last_synced_at', ${sqlTime('tracker.last_synced_at')}, 'last_result', tracker.last_result,
    'last_error', tracker.last_error, 'moved_to', tracker.moved_to, 'conflicts', coalesce(tracker.conflicts, '[]'),
    'next_attempt_at', ${sqlTime('tracker.next_attempt_at')}) AS sync`;

/** The tracker that issues are synced with, as it is known by in the database. */
export interface TrackerIdentity {
  provider: string;
  project: string;
}

/** RFC 3339, UTC, with milliseconds: the form in which every time leaves this service. */
export function sqlTime(column: string): Prisma.Sql {
  return Prisma.raw(`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`);
}

/**
 * The wire form of an issue as an SQL expression over a row `i` and its `relations`, the same for one issue and for
 * lists. Built where the rows are, a list costs the process a quarter of what rows and a presenter did.
 */
export class IssueDocument {
  readonly #members: Prisma.Sql;
  readonly #tracker: Prisma.Sql;
  /** What has to be joined to the row `i`. */
  readonly relations: Prisma.Sql;

  constructor(keyPrefix: string, tracker?: TrackerIdentity) {
    this.#tracker = tracker === undefined ? withoutTracker : withTracker;
    this.relations =
      tracker === undefined
        ? people
        : Prisma.sql`${people}
            LEFT JOIN tracker_links tracker ON tracker.issue_id = i.id AND tracker.provider = ${tracker.provider}
                  AND tracker.project = ${tracker.project}`;
    this.#members = Prisma.sql`
      i.id, i.number, ${keyPrefix}::text || '-' || i.number AS key, i.title, i.description, i.priority, i.status,
      ${transitionsOf} AS allowed_transitions,
      json_build_object('id', i.reporter_id, 'username', reporter.username) AS reporter,
      CASE WHEN i.assignee_id IS NOT NULL
           THEN json_build_object('id', i.assignee_id, 'username', assignee.username) END AS assignee`;
    this.summary = this.#document({}, Prisma.empty);
    this.full = this.fullOf({});
  }

  /**
   * Names everything that a summary shows, beginning with the issue's id: `rev` grows with all that belongs to the
   * issue, and people are shown by name. As JSON: a name may hold any character, and a separator none of JSON's text.
   */
  readonly summaryKey = Prisma.sql`
    i.id || ' ' || i.rev || ' ' || coalesce(to_json(reporter.username)::text, 'null')
      || ' ' || coalesce(to_json(assignee.username)::text, 'null')`;

  /** The same of the whole document: who wrote the comments, too, is shown by name. */
  readonly fullKey = Prisma.sql`${this.summaryKey} || ' ' || coalesce((
    SELECT json_agg(author.username ORDER BY c.created_at, c.id)::text
      FROM ${newestOf(comments)} c LEFT JOIN identity_mirror author ON author.id = c.author_id), '[]')`;

  /** As it stands in a list. */
  readonly summary: Prisma.Sql;

  /** By itself: with the newest comments, oldest first. Composed once, for most statements. */
  readonly full: Prisma.Sql;

  /** The same, over relations that the statement has just written. */
  fullOf(sources: DocumentSources): Prisma.Sql {
    return this.#document(sources, Prisma.sql`${commentsOf(sources.comments ?? comments)} AS comments,`);
  }

  #document(sources: DocumentSources, further: Prisma.Sql): Prisma.Sql {
    return Prisma.sql`
      (SELECT row_to_json(d)::text FROM (SELECT ${this.#members},
        ${linksOf(sources.links ?? links)} AS links, ${this.#tracker},
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
             'author', ${commentAuthor}, 'origin', c.origin, 'external', ${commentSource},
             'created_at', ${sqlTime('c.created_at')}, 'updated_at', ${sqlTime('c.updated_at')})
             ORDER BY c.created_at, c.id)
      FROM ${newestOf(source)} c
      LEFT JOIN identity_mirror author ON author.id = c.author_id), '[]')`;
}

// The comments that stand in an issue's document.
function newestOf(source: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT * FROM ${source} newest WHERE newest.issue_id = i.id
    ORDER BY newest.created_at DESC, newest.id DESC LIMIT ${Prisma.raw(String(embeddedCommentsMax))})`;
}
