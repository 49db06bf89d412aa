import { v7 as uuidv7 } from 'uuid';
import { insertActivity } from '../activity/activity.sql.ts';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { deleteLinks, upsertLinks } from '../links/link.sql.ts';
import { createDocumentCache } from './document-cache.ts';
import type { ChangedBy, IssueChange, IssueState, IssueView, IssueWithLinks, NewIssue } from './issue.ts';
import { type IssueDocument, issueColumns } from './issue-document.repository.ts';
import type { IssueReference } from './issue-reference.ts';

const stateColumns = Prisma.sql`i.id, i.title, i.description, i.priority, i.status, i.reporter_id AS "reporterId",
  i.assignee_id AS "assigneeId", i.version, i.rev, i.resolved_at AS "resolvedAt"`;
const linkRows = Prisma.sql`coalesce((
  SELECT json_agg(json_build_object('id', l.id, 'type', l.type, 'ref', l.ref, 'title', l.title, 'url', l.url,
           'relation', l.relation, 'metadata', l.metadata) ORDER BY l.created_at, l.id)
    FROM issue_links l WHERE l.issue_id = i.id), '[]') AS links`;

interface ReadRow extends Omit<IssueView, 'document'> {
  key: string;
  document: string | null;
}

/** Issues in the database. Where a method takes a transaction, it is a part of it; else it is one of its own. */
export class IssueRepository {
  readonly #database: Database;
  readonly #document: IssueDocument;
  readonly #views = createDocumentCache<{ key: string; document: string }>(
    ({ key, document }) => key.length + document.length,
  );

  constructor(database: Database, document: IssueDocument) {
    this.#database = database;
    this.#document = document;
  }

  /** The issue as it is answered, in one statement. */
  async find(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<IssueView | undefined> {
    const rows = await within.$queryRaw<IssueView[]>`
      SELECT i.id, i.version, i.rev, ${this.#document.full} AS document
        FROM issues i ${this.#document.relations} WHERE ${isReferredTo(reference)}`;
    return rows[0];
  }

  /**
   * The same for who only reads: a document that this process has made before is not made again as long as its key is
   * the same, which the statement looks at. It is most of what a read costs PostgreSQL (packages/dev/bench).
   */
  async read(reference: IssueReference): Promise<IssueView | undefined> {
    const name = 'id' in reference ? reference.id : String(reference.number);
    const known = this.#views.get(name);
    const [row] = await this.#database.$queryRaw<ReadRow[]>`
      SELECT i.id, i.version, i.rev, k.key,
        CASE WHEN k.key IS DISTINCT FROM ${known?.key}::text THEN ${this.#document.full} END AS document
        FROM issues i ${this.#document.relations}
       CROSS JOIN LATERAL (SELECT ${this.#document.fullKey} AS key OFFSET 0) k
       WHERE ${isReferredTo(reference)}`;
    if (row === undefined) return undefined;
    const { key, ...view } = row;
    const document = view.document ?? known?.document;
    if (document === undefined) throw new Error('a document whose key nobody knows is made');
    if (view.document !== null) this.#views.set(name, { key, document });
    return { ...view, document };
  }

  /** The issue as rules look at it. */
  async findState(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<IssueState | undefined> {
    const rows = await within.$queryRaw<IssueState[]>`
      SELECT ${stateColumns} FROM issues i WHERE ${isReferredTo(reference)}`;
    return rows[0];
  }

  /** The same, and its links. */
  async findWithLinks(
    reference: IssueReference,
    within: Transaction = this.#database,
  ): Promise<IssueWithLinks | undefined> {
    const rows = await within.$queryRaw<IssueWithLinks[]>`
      SELECT ${stateColumns}, ${linkRows} FROM issues i WHERE ${isReferredTo(reference)}`;
    return rows[0];
  }

  /** Inserts an issue with its links and the first line of its history, in one statement. */
  async create(
    issue: NewIssue,
    by: ChangedBy & { actorId: string },
    within: Transaction = this.#database,
  ): Promise<IssueView> {
    const id = uuidv7();
    const links = issue.links.length === 0 ? undefined : upsertLinks(id, issue.links, by.actorId);
    const rows = await within.$queryRaw<IssueView[]>`
      WITH i AS (
        INSERT INTO issues (id, title, description, priority, reporter_id, assignee_id)
        VALUES (${id}::uuid, ${issue.title}, ${issue.description}, ${issue.priority}::issue_priority,
                ${by.actorId}::uuid, ${issue.assigneeId}::uuid)
        RETURNING ${issueColumns}
      ), created AS (
        INSERT INTO activity (issue_id, actor_id, kind, request_id)
        VALUES (${id}::uuid, ${by.actorId}::uuid, 'created', ${by.requestId})
      )${links === undefined ? Prisma.empty : Prisma.sql`, new_links AS (${links})`}
      SELECT i.id, i.version, i.rev,
        ${links === undefined ? this.#document.full : this.#document.fullOf({ links: Prisma.raw('new_links') })} AS document
        FROM i ${this.#document.relations}`;
    const [created] = rows;
    if (created === undefined) throw new Error('INSERT … RETURNING has a row');
    return created;
  }

  /**
   * Changes an issue under a lock of its row, so that what `decide` looks at is what is written upon: it answers what to
   * write, or nothing, or throws, and then nothing happens. Undefined where there is no such issue.
   */
  async change(
    reference: IssueReference,
    by: ChangedBy,
    decide: (issue: IssueWithLinks, transaction: Transaction) => Promise<IssueChange | undefined>,
  ): Promise<IssueView | undefined> {
    return this.#database.$transaction(async (transaction) => {
      const issue = await this.lock(reference, transaction);
      if (issue === undefined) return undefined;
      const change = await decide(issue, transaction);
      if (change !== undefined) await this.write(issue.id, change, by, transaction);
      return this.find({ id: issue.id }, transaction);
    });
  }

  /** Writes a change that was decided while the issue was locked. */
  async write(id: string, change: IssueChange, by: ChangedBy, transaction: Transaction): Promise<void> {
    await transaction.$executeRaw(updateIssue(id, change, by));
  }

  /**
   * Locks an issue until the transaction ends. Two statements: the second one sees the links that the previous holder of
   * the lock wrote.
   */
  async lock(reference: IssueReference, transaction: Transaction): Promise<IssueWithLinks | undefined> {
    const [issue] = await transaction.$queryRaw<IssueState[]>`
      SELECT ${stateColumns} FROM issues i WHERE ${isReferredTo(reference)} FOR NO KEY UPDATE`;
    return issue === undefined ? undefined : this.findWithLinks({ id: issue.id }, transaction);
  }
}

/** The row `i` that a path names. */
export function isReferredTo(reference: IssueReference): Prisma.Sql {
  return 'id' in reference
    ? Prisma.sql`i.id = ${reference.id}::uuid`
    : Prisma.sql`i.number = ${reference.number}::bigint`;
}

function updateIssue(id: string, { fields, links, activity }: IssueChange, by: ChangedBy): Prisma.Sql {
  const isNewVersion = Object.keys(fields).length > 0;
  return Prisma.sql`
    WITH removed AS (${deleteLinks(links.removed.map((link) => link.id))}),
      put AS (${upsertLinks(id, links.put, by.actorId)}),
      logged AS (${insertActivity(id, activity, by)})
    UPDATE issues SET
      title = coalesce(${fields.title ?? null}::text, title),
      description = coalesce(${fields.description ?? null}::text, description),
      priority = coalesce(${fields.priority ?? null}::issue_priority, priority),
      assignee_id = CASE WHEN ${fields.assigneeId !== undefined}
                         THEN ${fields.assigneeId ?? null}::uuid ELSE assignee_id END,
      version = version + ${isNewVersion ? 1 : 0}::int, rev = rev + 1, updated_at = clock_timestamp()
     WHERE id = ${id}::uuid`;
}
