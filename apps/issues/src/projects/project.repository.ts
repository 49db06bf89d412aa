import type { CreateProject } from '@tessera/contracts';
import { v7 as uuidv7 } from 'uuid';
import { type Database, inTransaction, type Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { defaultProjectId, type Project } from '../issue-core/project.ts';
import type { ReadScope } from '../issue-core/project-access.ts';

const columns = Prisma.raw(
  'p.id, p.key, p.name, p.visibility, p.archived_at AS "archivedAt", p.mail_text AS "mailText", p.version, p.created_at AS "createdAt"',
);

/** Returns the ids of the projects that have or had these keys, by key. */
export async function findProjectsByKeys(
  keys: readonly string[],
  within: Transaction,
): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map();
  const rows = await within.$queryRaw<{ key: string; projectId: string }[]>`
    SELECT key, project_id AS "projectId" FROM project_keys WHERE key = ANY(${[...keys]}::text[])`;
  return new Map(rows.map(({ key, projectId }) => [key, projectId]));
}

/** A project as it is to be. */
export interface WantedProject extends Pick<Project, 'id' | 'key' | 'name' | 'visibility' | 'mailText'> {
  isArchived: boolean;
}

/** Reads and writes projects. */
export class ProjectRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns all projects that are not hidden: the default one first, then by key. */
  async list({ hidden }: ReadScope, within: Transaction = this.#database): Promise<Project[]> {
    return within.$queryRaw<Project[]>`
      SELECT ${columns} FROM projects p WHERE p.id <> ALL(${[...hidden]}::uuid[])
       ORDER BY p.key IS NOT NULL, p.key COLLATE "C"`;
  }

  async count(within: Transaction): Promise<number> {
    const [row] = await within.$queryRaw<{ count: number }[]>`SELECT count(*)::int AS count FROM projects`;
    return row?.count ?? 0;
  }

  async find(id: string, within: Transaction = this.#database): Promise<Project | undefined> {
    const [project] = await within.$queryRaw<
      Project[]
    >`SELECT ${columns} FROM projects p WHERE p.id = ${id}::uuid`;
    return project;
  }

  /** Finds the project that has or had a key. */
  async findByKey(key: string, within: Transaction = this.#database): Promise<Project | undefined> {
    const [project] = await within.$queryRaw<Project[]>`
      SELECT ${columns} FROM projects p JOIN project_keys k ON k.project_id = p.id WHERE k.key = ${key}`;
    return project;
  }

  /** Returns those of the keys that a project which is not hidden has or had. */
  async knownKeys(keys: readonly string[], { hidden }: ReadScope): Promise<string[]> {
    const found = await findProjectsByKeys(keys, this.#database);
    return [...found].filter(([, id]) => !hidden.includes(id)).map(([key]) => key);
  }

  /**
   * Runs the function in a transaction with an exclusive lock of the projects. Its statements see the changes of the previous lock
   * holder.
   */
  async change<Result>(
    run: (transaction: Transaction) => Promise<Result>,
    within?: Transaction,
  ): Promise<Result> {
    return this.#locked(Prisma.sql`UPDATE project_catalog SET rev = rev + 1`, run, within);
  }

  /** The same for a new project, of which there is no text yet: lists of people who do not see it keep their ETags. */
  async add<Result>(
    run: (transaction: Transaction) => Promise<Result>,
    within?: Transaction,
  ): Promise<Result> {
    return this.#locked(Prisma.sql`SELECT FROM project_catalog FOR UPDATE`, run, within);
  }

  async #locked<Result>(
    lock: Prisma.Sql,
    run: (transaction: Transaction) => Promise<Result>,
    within: Transaction | undefined,
  ): Promise<Result> {
    const locked = async (transaction: Transaction) => {
      await transaction.$executeRaw(lock);
      return run(transaction);
    };
    return inTransaction(this.#database, locked, { within });
  }

  /** Returns the number of keys that a project has or had. */
  async countKeys(projectId: string, within: Transaction): Promise<number> {
    const [row] = await within.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM project_keys WHERE project_id = ${projectId}::uuid`;
    return row?.count ?? 0;
  }

  async insert(
    { key, name, visibility, mail_text }: Required<CreateProject>,
    within: Transaction,
  ): Promise<Project> {
    const [project] = await within.$queryRaw<Project[]>`
      INSERT INTO projects AS p (id, key, name, visibility, mail_text)
      VALUES (${uuidv7()}::uuid, ${key}, ${name}, ${visibility}::project_visibility, ${mail_text}::project_mail_text) RETURNING ${columns}`;
    return present(project);
  }

  /** Keeps a key for a project. Returns the id of the project that has it after that, perhaps another one. */
  async keepKey(key: string, projectId: string, within: Transaction = this.#database): Promise<string> {
    await within.$executeRaw`
      INSERT INTO project_keys (key, project_id) VALUES (${key}, ${projectId}::uuid) ON CONFLICT (key) DO NOTHING`;
    const found = await findProjectsByKeys([key], within);
    return found.get(key) ?? projectId;
  }

  /** Keeps the configured prefix for the default project. Returns whether no other project has or had it. */
  async keepPrefix(prefix: string, within?: Transaction): Promise<boolean> {
    return (await this.keepKey(prefix, defaultProjectId, within)) === defaultProjectId;
  }

  async update(
    { id, key, name, visibility, mailText, isArchived }: WantedProject,
    within: Transaction,
  ): Promise<Project> {
    const [project] = await within.$queryRaw<Project[]>`
      UPDATE projects p SET key = ${key}, name = ${name}, visibility = ${visibility}::project_visibility,
             mail_text = ${mailText}::project_mail_text, version = version + 1,
             archived_at = CASE WHEN ${isArchived}::boolean THEN coalesce(archived_at, clock_timestamp()) END
       WHERE id = ${id}::uuid RETURNING ${columns}`;
    return present(project);
  }
}

function present(project: Project | undefined): Project {
  if (project === undefined) throw new Error('a project that was just written is missing');
  return project;
}
