import {
  memberProjectsMax,
  type ProjectActivityKind,
  type ProjectRole,
  projectMembersMax,
} from '@tessera/contracts';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { joinPerson } from '../issue-store/issue.sql.ts';

/** A member of a project, with the names of the mirror. */
export interface Member {
  userId: string;
  names: string | null;
  role: ProjectRole;
  since: Date;
}

/** An entry to add to the history of a project. */
export interface NewProjectEntry {
  projectId: string;
  actorId: string;
  kind: ProjectActivityKind;
  userId?: string;
  field?: 'key' | 'name' | 'visibility' | 'is_archived' | 'mail_text' | 'role';
  old?: string | boolean | undefined;
  new?: string | boolean | undefined;
}

/** An entry of the history of a project, with the names of the mirror. */
export interface ProjectEntry extends Required<Pick<NewProjectEntry, 'actorId' | 'kind'>> {
  id: number;
  actorNames: string | null;
  userId: string | null;
  userNames: string | null;
  field: NonNullable<NewProjectEntry['field']> | null;
  old: string | boolean | null;
  new: string | boolean | null;
  at: Date;
}

/** What decides whether a person may become a member. */
export interface MemberCounts {
  members: number;
  /** The other managers who are active. */
  managers: number;
  /** The memberships of the person in projects that are not open to everyone, without this one. */
  others: number;
}

/** Reads and writes members of projects, and the history of both. */
export class MemberRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Runs the function in a transaction with a lock of the members of all projects, so that limits and the last manager are decided
   * once. Its statements see the changes of the previous lock holder.
   */
  async change<Result>(run: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT 1 FROM project_catalog FOR UPDATE`;
      return run(transaction);
    });
  }

  /** Returns a page of members, by id. */
  async list(
    projectId: string,
    { after, limit }: { after: string | undefined; limit: number },
  ): Promise<Member[]> {
    const beyond = after === undefined ? Prisma.empty : Prisma.sql`AND m.user_id > ${after}::uuid`;
    return this.#database.$queryRaw<Member[]>`
      SELECT m.user_id AS "userId", person.names, m.role, m.since
        FROM project_members m ${joinPerson('person', 'm.user_id')}
       WHERE m.project_id = ${projectId}::uuid ${beyond} ORDER BY m.user_id LIMIT ${limit}::int`;
  }

  async find(
    projectId: string,
    userId: string,
    within: Transaction = this.#database,
  ): Promise<Member | undefined> {
    const [member] = await within.$queryRaw<Member[]>`
      SELECT m.user_id AS "userId", person.names, m.role, m.since
        FROM project_members m ${joinPerson('person', 'm.user_id')}
       WHERE m.project_id = ${projectId}::uuid AND m.user_id = ${userId}::uuid`;
    return member;
  }

  async count(projectId: string, userId: string, within: Transaction): Promise<MemberCounts> {
    const [counts] = await within.$queryRaw<MemberCounts[]>`
      SELECT count(*)::int AS members,
             (count(*) FILTER (WHERE role = 'manager' AND user_id <> ${userId}::uuid AND NOT EXISTS (
               SELECT FROM identity_mirror i WHERE i.id = member.user_id AND NOT i.is_active)))::int AS managers,
             (SELECT count(*) FROM project_members m JOIN projects p ON p.id = m.project_id
               WHERE m.user_id = ${userId}::uuid AND p.id <> ${projectId}::uuid AND p.visibility <> 'everyone')::int AS others
        FROM project_members member WHERE project_id = ${projectId}::uuid`;
    return counts ?? { members: 0, managers: 0, others: 0 };
  }

  async put(projectId: string, userId: string, role: ProjectRole, within: Transaction): Promise<void> {
    await within.$executeRaw`
      INSERT INTO project_members (project_id, user_id, role)
      VALUES (${projectId}::uuid, ${userId}::uuid, ${role}::project_role)
      ON CONFLICT (user_id, project_id) DO UPDATE SET role = excluded.role`;
  }

  async delete(projectId: string, userId: string, within: Transaction): Promise<void> {
    await within.$executeRaw`
      DELETE FROM project_members WHERE project_id = ${projectId}::uuid AND user_id = ${userId}::uuid`;
  }

  async addEntries(entries: readonly NewProjectEntry[], within: Transaction): Promise<void> {
    for (const { projectId, actorId, kind, userId = null, field = null, ...values } of entries) {
      const [old, next] = [values.old, values.new].map((value) =>
        value === undefined ? null : JSON.stringify(value),
      );
      await within.$executeRaw`
        INSERT INTO project_activity (project_id, actor_id, kind, user_id, field, old_value, new_value)
        VALUES (${projectId}::uuid, ${actorId}::uuid, ${kind}, ${userId}::uuid, ${field}, ${old ?? null}::jsonb, ${next ?? null}::jsonb)`;
    }
  }

  /** Returns a page of the history of a project, the newest first. */
  async listEntries(
    projectId: string,
    { after, limit }: { after: number | undefined; limit: number },
  ): Promise<ProjectEntry[]> {
    const older = after === undefined ? Prisma.empty : Prisma.sql`AND a.id < ${after}::bigint`;
    return this.#database.$queryRaw<ProjectEntry[]>`
      SELECT a.id::float8 AS id, a.kind, a.actor_id AS "actorId", actor.names AS "actorNames", a.user_id AS "userId",
             person.names AS "userNames", a.field, a.old_value AS old, a.new_value AS new, a.at
        FROM project_activity a ${joinPerson('actor', 'a.actor_id')} ${joinPerson('person', 'a.user_id')}
       WHERE a.project_id = ${projectId}::uuid ${older} ORDER BY a.id DESC LIMIT ${limit}::int`;
  }
}

/** Whether a project has as many members, or a person as many memberships, as possible. */
export function isFull({ members, others }: MemberCounts): 'project' | 'person' | undefined {
  if (members >= projectMembersMax) return 'project';
  return others >= memberProjectsMax ? 'person' : undefined;
}
