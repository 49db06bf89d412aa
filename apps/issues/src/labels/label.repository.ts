import { v7 as uuidv7 } from 'uuid';
import { type Database, inTransaction, type Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { type Label, labelKey } from '../issue-core/label.ts';

const columns = Prisma.raw('id, name, color, created_at AS "createdAt", updated_at AS "updatedAt"');

/** Returns the labels with these names, by key. */
export async function findLabelsByNames(
  names: readonly string[],
  within: Transaction,
): Promise<Map<string, Label>> {
  if (names.length === 0) return new Map();
  const rows = await within.$queryRaw<Label[]>`
      SELECT ${columns} FROM labels WHERE key = ANY(${names.map(labelKey)}::text[])`;
  return new Map(rows.map((label) => [labelKey(label.name), label]));
}

/** Reads and writes labels. */
export class LabelRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns all labels, sorted by name. */
  async list(within: Transaction = this.#database): Promise<Label[]> {
    return within.$queryRaw<Label[]>`SELECT ${columns} FROM labels ORDER BY key COLLATE "C"`;
  }

  async find(id: string, within: Transaction = this.#database): Promise<Label | undefined> {
    const [label] = await within.$queryRaw<Label[]>`SELECT ${columns} FROM labels WHERE id = ${id}::uuid`;
    return label;
  }

  async findByIds(ids: readonly string[]): Promise<Label[]> {
    if (ids.length === 0) return [];
    return this.#database.$queryRaw<Label[]>`SELECT ${columns} FROM labels WHERE id = ANY(${ids}::uuid[])`;
  }

  /** Returns the labels with these names, by key. */
  async findByNames(
    names: readonly string[],
    within: Transaction = this.#database,
  ): Promise<Map<string, Label>> {
    return findLabelsByNames(names, within);
  }

  /**
   * Runs the function in a transaction with an exclusive lock of the labels. Its statements see the changes of the
   * previous lock holder.
   */
  async change<Result>(
    run: (transaction: Transaction) => Promise<Result>,
    within?: Transaction,
  ): Promise<Result> {
    const locked = async (transaction: Transaction) => {
      await transaction.$queryRaw`SELECT rev FROM label_catalog FOR UPDATE`;
      return run(transaction);
    };
    return inTransaction(this.#database, locked, { within });
  }

  async insert({ name, color }: Pick<Label, 'name' | 'color'>, within: Transaction): Promise<Label> {
    const [label] = await within.$queryRaw<Label[]>`
      INSERT INTO labels (id, name, key, color)
      VALUES (${uuidv7()}::uuid, ${name}, ${labelKey(name)}, ${color}) RETURNING ${columns}`;
    return present(label);
  }

  async update(
    { id, name, color }: Pick<Label, 'id' | 'name' | 'color'>,
    within: Transaction,
  ): Promise<Label> {
    const [label] = await within.$queryRaw<Label[]>`
      UPDATE labels SET name = ${name}, key = ${labelKey(name)}, color = ${color}, updated_at = clock_timestamp()
       WHERE id = ${id}::uuid RETURNING ${columns}`;
    return present(label);
  }

  /** Deletes a label. Issues keep its id in `label_ids`, where it is ignored. */
  async delete(id: string, within: Transaction): Promise<void> {
    await within.$executeRaw`DELETE FROM labels WHERE id = ${id}::uuid`;
  }
}

function present(label: Label | undefined): Label {
  if (label === undefined) throw new Error('a label that was just written is missing');
  return label;
}
