import { listedSharedViewsMax, sharedViewsMax, viewQueryMaxLength, viewsMax } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { labelKey } from '../issue-core/label.ts';
import { joinPerson } from '../issue-store/issue.sql.ts';
import type { View, ViewContent } from './view.ts';

const columns = Prisma.raw(
  'v.id, v.owner_id AS "ownerId", v.name, v.query, v.layout, v.is_shared AS "isShared", v.created_at AS "createdAt", v.updated_at AS "updatedAt"',
);

/** Selects rows of views with the names of their owners. */
const withOwners = (rows: Prisma.Sql) => Prisma.sql`
  SELECT ${columns}, owner.names AS "ownerNames" FROM (${rows}) v ${joinPerson('owner', 'v.owner_id')}`;

/** Reads and writes views. */
export class ViewRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the views of a person, and then the oldest that others share. */
  async list(personId: string): Promise<View[]> {
    const rows = Prisma.sql`
      (SELECT * FROM views WHERE owner_id = ${personId}::uuid ORDER BY created_at, id LIMIT ${viewsMax})
      UNION ALL
      (SELECT * FROM views WHERE is_shared AND owner_id <> ${personId}::uuid ORDER BY created_at, id LIMIT ${listedSharedViewsMax})`;
    return this.#database.$queryRaw<View[]>`
      ${withOwners(rows)} ORDER BY v.owner_id <> ${personId}::uuid, v.created_at, v.id`;
  }

  /** Returns a view that the person may read. */
  async find(id: string, personId: string, within: Transaction = this.#database): Promise<View | undefined> {
    const rows = Prisma.sql`
      SELECT * FROM views WHERE id = ${id}::uuid AND (is_shared OR owner_id = ${personId}::uuid)`;
    const [view] = await within.$queryRaw<View[]>(withOwners(rows));
    return view;
  }

  /** Runs the function in a transaction that no other change of the view interrupts. */
  async change<Result>(
    id: string,
    personId: string,
    run: (view: View | undefined, transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    return this.#database.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT id FROM views WHERE id = ${id}::uuid FOR UPDATE`;
      return run(await this.find(id, personId, transaction), transaction);
    });
  }

  /** @returns the view, or undefined if the person has too many */
  async insert(ownerId: string, content: ViewContent, within?: Transaction): Promise<View | undefined> {
    if (within === undefined)
      return this.#database.$transaction((transaction) => this.insert(ownerId, content, transaction));
    const { name, query, layout, isShared } = content;
    await lockViewsOf(ownerId, within);
    const [row] = await within.$queryRaw<{ id: string }[]>`
      INSERT INTO views (id, owner_id, name, query, layout, is_shared)
      SELECT ${uuidv7()}::uuid, ${ownerId}::uuid, ${name}, ${query}, ${layout}::view_layout, ${isShared}
       WHERE ${hasFewer(ownerId, isShared)} AND (SELECT count(*) FROM views WHERE owner_id = ${ownerId}::uuid) < ${viewsMax}
      RETURNING id`;
    return row && this.find(row.id, ownerId, within);
  }

  /** @returns whether it was written: the owner may share too many views */
  async update(
    { id, ownerId, ...before }: View,
    content: ViewContent,
    within: Transaction,
  ): Promise<boolean> {
    const { name, query, layout, isShared } = content;
    await lockViewsOf(ownerId, within);
    const written = await within.$executeRaw`
      UPDATE views SET name = ${name}, query = ${query}, layout = ${layout}::view_layout, is_shared = ${isShared},
             updated_at = clock_timestamp()
       WHERE id = ${id}::uuid AND ${hasFewer(ownerId, isShared && !before.isShared)}`;
    return written > 0;
  }

  async delete(id: string, within: Transaction): Promise<void> {
    await within.$executeRaw`DELETE FROM views WHERE id = ${id}::uuid`;
  }

  /** Lets the views that filter by a label name it anew. One that would become too long keeps the former name. */
  async renameLabel(former: string, name: string, within: Transaction): Promise<void> {
    const spellings = [former, labelKey(former)].map((value) => inQuery(value).replace(/[*+.]/g, '\\$&'));
    const pattern = `((?:^|&)-?label=)(?:${spellings.join('|')})(?=&|$)`;
    await within.$executeRaw`
      UPDATE views v SET query = renamed.query, updated_at = clock_timestamp()
        FROM (SELECT id, regexp_replace(query, ${pattern}, ${`\\1${inQuery(name)}`}, 'gi') AS query
                FROM views WHERE query LIKE '%label=%') renamed
       WHERE v.id = renamed.id AND v.query <> renamed.query AND length(renamed.query) <= ${viewQueryMaxLength}`;
  }
}

/** A value as it is spelled in the query of a view. */
function inQuery(value: string): string {
  return new URLSearchParams({ '': value }).toString().slice(1);
}

/** Views of one person are counted one after the other. The next statement sees what the previous holder of the lock has written. */
async function lockViewsOf(ownerId: string, within: Transaction): Promise<void> {
  await within.$queryRaw`SELECT id FROM identity_mirror WHERE id = ${ownerId}::uuid FOR NO KEY UPDATE`;
}

/** Whether another view may be shared, if one is to be. */
function hasFewer(ownerId: string, isShared: boolean): Prisma.Sql {
  if (!isShared) return Prisma.sql`true`;
  return Prisma.sql`(SELECT count(*) FROM views WHERE owner_id = ${ownerId}::uuid AND is_shared) < ${sharedViewsMax}`;
}
