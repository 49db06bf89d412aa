import { type CreateProject, projectKeysMax, projectsMax, type UpdateProject } from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueSnapshot } from '../issue-core/issue.ts';
import { assertMay, assertMayCreateIn, assertMayManage } from '../issue-core/issue-access.ts';
import {
  assertFound as assertIssueFound,
  type IssueName,
  type IssueReference,
} from '../issue-core/issue-reference.ts';
import { defaultProjectId, type Project } from '../issue-core/project.ts';
import type { ReadScope } from '../issue-core/project-access.ts';
import type { AccessReader } from '../issue-store/access-reader.ts';
import type { DecideMove, IssueMover } from '../issue-store/move.ts';
import { isFull, type MemberRepository, type NewProjectEntry } from './member.repository.ts';
import { lastManager, tooManyProjects } from './member.service.ts';
import { type ProjectPresenter, presentProject } from './project.presenter.ts';
import type { ProjectRepository, WantedProject } from './project.repository.ts';

interface ProjectServiceDependencies {
  repository: ProjectRepository;
  members: MemberRepository;
  access: Pick<AccessReader, 'forget'>;
  mover: IssueMover;
  presenter: ProjectPresenter;
  /** The configured prefix: the key of the default project. */
  keyPrefix: string;
}

interface UpdateChecks {
  /** Throws if the client's precondition does not match the current project. */
  assertCurrent: (project: Project) => void;
}

/** Reads and writes projects, and moves issues. */
export class ProjectService {
  readonly #repository: ProjectRepository;
  readonly #members: MemberRepository;
  readonly #access: Pick<AccessReader, 'forget'>;
  readonly #mover: IssueMover;
  readonly #presenter: ProjectPresenter;
  readonly #keyPrefix: string;

  constructor({ repository, members, access, mover, presenter, keyPrefix }: ProjectServiceDependencies) {
    this.#repository = repository;
    this.#members = members;
    this.#access = access;
    this.#mover = mover;
    this.#presenter = presenter;
    this.#keyPrefix = keyPrefix;
  }

  async list({ access }: Actor): Promise<Project[]> {
    return this.#repository.list(access.scope);
  }

  async get(id: string, { access }: Actor): Promise<Project> {
    return assertFound(access.hides(id) ? undefined : await this.#repository.find(id));
  }

  /** Finds the project that has or had a key. */
  async find(key: string, reader: Actor): Promise<Project> {
    return assertFound(await this.lookUp(key, reader));
  }

  /** The same; undefined if there is none that the reader sees. */
  async lookUp(key: string, reader: Actor): Promise<Project | undefined> {
    return shown(await this.#findByKey(key), reader);
  }

  /** Finds a sealed project by its key, also for those who do not see it. */
  async findSealed(key: string): Promise<Project | undefined> {
    const project = await this.#findByKey(key);
    return project?.visibility === 'sealed' ? project : undefined;
  }

  /**
   * Returns the project of a key in a field of a request, in which the actor may create issues. Throws a 422 problem without one that
   * the actor sees, and a 403 problem. The write itself refuses one that is archived.
   */
  async resolve(key: string, actor: Actor): Promise<Project> {
    const project = await this.lookUp(key, actor);
    if (project === undefined)
      throw validationProblem([{ field: 'project', message: 'must be the key of a project' }]);
    assertMayCreateIn(actor, project.id);
    return project;
  }

  /** Returns the names of issues without those with a key that no project of a scope has or had: they lead to none. */
  async withKnownKeys(names: readonly IssueName[], scope: ReadScope): Promise<IssueName[]> {
    const keyOf = (name: IssueName) => ('number' in name ? name.prefix : undefined);
    const keys = names.flatMap((name) => keyOf(name) ?? []);
    const known = new Set(keys.length === 0 ? [] : await this.#repository.knownKeys(keys, scope));
    return names.filter((name) => {
      const key = keyOf(name);
      return key === undefined || known.has(key);
    });
  }

  /**
   * Keeps the configured prefix as a key for ever, so that issues are found by it after another one is configured. Returns whether no
   * other project has or had it.
   */
  async keepPrefix(): Promise<boolean> {
    return this.#repository.keepPrefix(this.#keyPrefix);
  }

  /** Creates a project, whose first manager is the actor. */
  async create(
    actor: Actor,
    { key, name, visibility = 'members', mail_text = 'title' }: CreateProject,
    within?: Transaction,
  ): Promise<Project> {
    const created = await this.#repository.add(async (transaction) => {
      await this.#repository.keepPrefix(this.#keyPrefix, transaction);
      if ((await this.#repository.findByKey(key, transaction)) !== undefined) throw keyTaken();
      if ((await this.#repository.count(transaction)) >= projectsMax) {
        const detail = `There are ${projectsMax} projects already.`;
        throw new ProblemError({ status: 409, code: 'too_many_projects', detail });
      }
      const { id: actorId } = actor;
      const counts = await this.#members.count(defaultProjectId, actorId, transaction);
      // Before anything is written: a refusal of a request with a key is stored by the transaction of its effect.
      if (visibility !== 'everyone' && isFull(counts) === 'person')
        throw tooManyProjects({ field: 'visibility', message: 'must be everyone' });
      const project = await this.#repository.insert({ key, name, visibility, mail_text }, transaction);
      await this.#repository.keepKey(key, project.id, transaction);
      await this.#members.put(project.id, actorId, 'manager', transaction);
      await this.#members.addEntries([{ projectId: project.id, actorId, kind: 'created' }], transaction);
      return project;
    }, within);
    this.#access.forget();
    return created;
  }

  async update(
    actor: Actor,
    key: string,
    change: UpdateProject,
    { assertCurrent }: UpdateChecks,
  ): Promise<Project> {
    const updated = await this.#repository.change(async (transaction) => {
      const project = assertFound(shown(await this.#findByKey(key, transaction), actor));
      const own = await this.#members.find(project.id, actor.id, transaction);
      assertMayManage(actor, project.visibility, own?.role);
      assertCurrent(project);
      this.#assertVersion(change.version, project);
      const isArchived = project.archivedAt !== null;
      const wanted = {
        id: project.id,
        key: this.#wantedKey(change.key, project),
        name: change.name ?? project.name,
        visibility: change.visibility ?? project.visibility,
        mailText: change.mail_text ?? project.mailText,
        isArchived: change.is_archived ?? isArchived,
      };
      if (project.id === defaultProjectId && wanted.isArchived)
        throw validationProblem([{ field: 'is_archived', message: 'must be false for the default project' }]);
      if (project.id === defaultProjectId && wanted.visibility !== 'everyone')
        throw validationProblem([
          { field: 'visibility', message: 'must be everyone for the default project' },
        ]);
      const entries = entriesOf({ ...project, isArchived }, wanted, actor.id);
      if (entries.length === 0) return project;
      if (wanted.visibility === 'sealed' && project.visibility !== 'sealed') {
        const { managers } = await this.#members.count(project.id, actor.id, transaction);
        if (own?.role !== 'manager' && managers === 0) throw lastManager();
      }
      if (wanted.key !== null && wanted.key !== project.key)
        await this.#rename(project, wanted.key, transaction);
      await this.#members.addEntries(entries, transaction);
      return this.#repository.update(wanted, transaction);
    });
    this.#access.forget();
    return updated;
  }

  /** Moves an issue. The project that it has changes nothing. */
  async move(
    actor: Actor,
    reference: IssueReference,
    project: Project,
    requestId: string,
    within?: Transaction,
  ): Promise<IssueSnapshot> {
    const by = { actorId: actor.id, requestId };
    const describe = ({ id, key }: Pick<Project, 'id' | 'key'>) => ({ id, key: key ?? this.#keyPrefix });
    const decide: DecideMove = (issue) => {
      assertMay(actor, 'update', issue);
      const old = describe({ id: issue.projectId, key: issue.project.key });
      return { project: { old, new: describe(project) } };
    };
    const moved = await this.#mover.move(reference, project.id, by, decide, within);
    return assertIssueFound(moved);
  }

  async #findByKey(key: string, within?: Transaction): Promise<Project | undefined> {
    return key === this.#keyPrefix
      ? this.#repository.find(defaultProjectId, within)
      : this.#repository.findByKey(key, within);
  }

  #wantedKey(key: string | undefined, project: Project): string | null {
    if (project.id !== defaultProjectId) return key ?? project.key;
    if (key === undefined || key === this.#keyPrefix) return null;
    const message = `must be ${this.#keyPrefix}: the key of the default project is configured`;
    throw validationProblem([{ field: 'key', message }]);
  }

  // Under the lock of the projects, so nothing takes the key meanwhile.
  async #rename({ id }: Project, key: string, transaction: Transaction): Promise<void> {
    await this.#repository.keepPrefix(this.#keyPrefix, transaction);
    const owner = await this.#repository.findByKey(key, transaction);
    if (owner?.id === id) return;
    if (owner !== undefined) throw keyTaken();
    if ((await this.#repository.countKeys(id, transaction)) >= projectKeysMax) {
      const message = `must be one of its former keys: a project has at most ${projectKeysMax}`;
      throw validationProblem([{ field: 'key', message }]);
    }
    await this.#repository.keepKey(key, id, transaction);
  }

  #assertVersion(version: number | null | undefined, project: Project): void {
    if (version == null || version === project.version) return;
    throw new ProblemError({
      status: 409,
      code: 'version_conflict',
      detail: 'The project has a newer version; `project` is its current state.',
      members: { project: presentProject(project, this.#presenter) },
    });
  }
}

function shown(project: Project | undefined, { access }: Actor): Project | undefined {
  return project === undefined || access.hides(project.id) ? undefined : project;
}

function entriesOf(
  before: WantedProject,
  { key, name, visibility, mailText, isArchived }: WantedProject,
  actorId: string,
): NewProjectEntry[] {
  const values = [
    { field: 'key', old: before.key ?? undefined, new: key ?? undefined },
    { field: 'name', old: before.name, new: name },
    { field: 'visibility', old: before.visibility, new: visibility },
    { field: 'is_archived', old: before.isArchived, new: isArchived },
    { field: 'mail_text', old: before.mailText, new: mailText },
  ] as const;
  const changed = values.filter((value) => value.old !== value.new);
  return changed.map((value) => ({ projectId: before.id, actorId, kind: 'updated', ...value }));
}

function assertFound(project: Project | undefined): Project {
  if (project !== undefined) return project;
  throw new ProblemError({ status: 404, code: 'project_not_found', detail: 'There is no such project.' });
}

function keyTaken(): ProblemError {
  const detail = 'A project has or had this key.';
  return new ProblemError({ status: 409, code: 'project_key_taken', detail });
}
