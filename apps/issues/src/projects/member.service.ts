import { memberProjectsMax, type ProjectRole, projectMembersMax } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import { assertMayManage } from '../issue-core/issue-access.ts';
import type { PersonResolver } from '../issue-core/person.ts';
import type { Project } from '../issue-core/project.ts';
import type { AccessReader } from '../issue-store/access-reader.ts';
import { isFull, type Member, type MemberRepository, type ProjectEntry } from './member.repository.ts';
import type { ProjectService } from './project.service.ts';

interface MemberServiceDependencies {
  members: MemberRepository;
  projects: Pick<ProjectService, 'find' | 'findSealed'>;
  people: PersonResolver;
  access: Pick<AccessReader, 'forget'>;
}

/** Reads and changes the members of projects. */
export class MemberService {
  readonly #dependencies: MemberServiceDependencies;

  constructor(dependencies: MemberServiceDependencies) {
    this.#dependencies = dependencies;
  }

  async list(
    actor: Actor,
    key: string,
    page: { after: string | undefined; limit: number },
  ): Promise<Member[]> {
    return this.#dependencies.members.list(await this.#seenWholly(actor, key), page);
  }

  async history(
    actor: Actor,
    key: string,
    page: { after: number | undefined; limit: number },
  ): Promise<ProjectEntry[]> {
    return this.#dependencies.members.listEntries(await this.#seenWholly(actor, key), page);
  }

  // Those who only report issues to a project do not see who works on them.
  async #seenWholly(actor: Actor, key: string): Promise<string> {
    const { id } = await this.#dependencies.projects.find(key, actor);
    if (actor.access.scope.own.includes(id))
      throw new ProblemError({
        status: 403,
        code: 'forbidden',
        detail: 'Only members and staff may do this.',
      });
    return id;
  }

  /** Adds a member, or changes the role. A superuser may join a sealed project that they do not see. */
  async put(
    actor: Actor,
    key: string,
    userId: string,
    role: ProjectRole,
  ): Promise<{ member: Member; isNew: boolean }> {
    const { members, projects, people, access } = this.#dependencies;
    const isJoining = actor.isSuperuser && actor.id === userId;
    const project =
      (isJoining ? await projects.findSealed(key) : undefined) ?? (await projects.find(key, actor));
    if (userId !== actor.id) await people.resolveForAssignment({ id: userId }, 'user_id');
    const changed = await members.change(async (transaction) => {
      const own = await members.find(project.id, actor.id, transaction);
      if (!isJoining) assertMayManage(actor, project.visibility, own?.role);
      const before = userId === actor.id ? own : await members.find(project.id, userId, transaction);
      if (before?.role === role) return { isNew: false };
      const counts = await members.count(project.id, userId, transaction);
      if (before?.role === 'manager' && counts.managers === 0) throw lastManager();
      if (before === undefined) assertRoom(isFull(counts), project);
      await members.put(project.id, userId, role, transaction);
      const kind = before === undefined ? 'member_added' : 'member_changed';
      const entry = { kind, field: 'role', old: before?.role, new: role } as const;
      await members.addEntries([{ projectId: project.id, actorId: actor.id, userId, ...entry }], transaction);
      return { isNew: before === undefined };
    });
    access.forget();
    const member = await members.find(project.id, userId);
    if (member === undefined) throw memberNotFound();
    return { member, ...changed };
  }

  /** Removes a member. Each member may leave. */
  async remove(actor: Actor, key: string, userId: string): Promise<void> {
    const { members, projects, access } = this.#dependencies;
    const project = await projects.find(key, actor);
    await members.change(async (transaction) => {
      const own = await members.find(project.id, actor.id, transaction);
      if (actor.id !== userId) assertMayManage(actor, project.visibility, own?.role);
      const before = userId === actor.id ? own : await members.find(project.id, userId, transaction);
      if (before === undefined) throw memberNotFound();
      const { managers } = await members.count(project.id, userId, transaction);
      if (before.role === 'manager' && managers === 0) throw lastManager();
      await members.delete(project.id, userId, transaction);
      const entry = { kind: 'member_removed', field: 'role', old: before.role } as const;
      await members.addEntries([{ projectId: project.id, actorId: actor.id, userId, ...entry }], transaction);
    });
    access.forget();
  }
}

function assertRoom(full: 'project' | 'person' | undefined, { visibility }: Project): void {
  if (full === 'project') {
    const detail = `The project has ${projectMembersMax} members already.`;
    throw new ProblemError({ status: 409, code: 'too_many_members', detail });
  }
  if (full !== 'person' || visibility === 'everyone') return;
  throw tooManyProjects({ field: 'user_id', message: 'is a member of as many projects as possible' });
}

export function tooManyProjects(error: { field: string; message: string }): ProblemError {
  return new ProblemError({
    status: 422,
    code: 'too_many_projects',
    detail: `The person is a member of ${memberProjectsMax} projects that are not open to everyone.`,
    errors: [error],
  });
}

export function lastManager(): ProblemError {
  const detail = 'The project would have no manager.';
  return new ProblemError({ status: 409, code: 'last_manager', detail });
}

function memberNotFound(): ProblemError {
  const detail = 'The person is no member of the project.';
  return new ProblemError({ status: 404, code: 'member_not_found', detail });
}
