import { type CreateProject, projectKeysMax, projectsMax, type UpdateProject } from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueSnapshot } from '../issue-core/issue.ts';
import { assertMay } from '../issue-core/issue-access.ts';
import { assertFound as assertIssueFound, type IssueReference } from '../issue-core/issue-reference.ts';
import { defaultProjectId, type Project, projectArchived } from '../issue-core/project.ts';
import type { DecideMove, IssueMover } from '../issue-store/move.ts';
import { type ProjectPresenter, presentProject } from './project.presenter.ts';
import type { ProjectRepository } from './project.repository.ts';

interface ProjectServiceDependencies {
  repository: ProjectRepository;
  mover: IssueMover;
  presenter: ProjectPresenter;
  /** The configured prefix: the key of the default project. */
  keyPrefix: string;
}

interface UpdateChecks {
  /** Throws if the client's precondition does not match the current project. */
  assertCurrent: (project: Project) => void;
}

/** Reads and writes projects, and moves issues. Every active user may read projects; staff may write them. */
export class ProjectService {
  readonly #repository: ProjectRepository;
  readonly #mover: IssueMover;
  readonly #presenter: ProjectPresenter;
  readonly #keyPrefix: string;

  constructor({ repository, mover, presenter, keyPrefix }: ProjectServiceDependencies) {
    this.#repository = repository;
    this.#mover = mover;
    this.#presenter = presenter;
    this.#keyPrefix = keyPrefix;
  }

  async list(): Promise<Project[]> {
    return this.#repository.list();
  }

  async get(id: string): Promise<Project> {
    return assertFound(await this.#repository.find(id));
  }

  /** Finds the project that has or had a key. */
  async find(key: string): Promise<Project> {
    return assertFound(await this.#findByKey(key));
  }

  /** Returns the project of a key in a field of a request. Throws a 422 problem without one, a 409 problem if it is archived. */
  async resolve(key: string): Promise<Project> {
    const project = await this.#findByKey(key);
    if (project === undefined)
      throw validationProblem([{ field: 'project', message: 'must be the key of a project' }]);
    if (project.archivedAt !== null) throw projectArchived();
    return project;
  }

  /** Returns those of the keys that a project has or had. */
  async knownKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys.length === 0 ? [] : await this.#repository.knownKeys(keys));
  }

  /**
   * Keeps the configured prefix as a key for ever, so that issues are found by it after another one is configured. Returns whether no
   * other project has or had it.
   */
  async keepPrefix(): Promise<boolean> {
    return this.#repository.keepPrefix(this.#keyPrefix);
  }

  async create({ key, name }: CreateProject, within?: Transaction): Promise<Project> {
    return this.#repository.change(async (transaction) => {
      await this.#repository.keepPrefix(this.#keyPrefix, transaction);
      if ((await this.#repository.findByKey(key, transaction)) !== undefined) throw keyTaken();
      if ((await this.#repository.list(transaction)).length >= projectsMax) {
        const detail = `There are ${projectsMax} projects already.`;
        throw new ProblemError({ status: 409, code: 'too_many_projects', detail });
      }
      const project = await this.#repository.insert({ key, name }, transaction);
      await this.#repository.keepKey(key, project.id, transaction);
      return project;
    }, within);
  }

  async update(key: string, change: UpdateProject, { assertCurrent }: UpdateChecks): Promise<Project> {
    return this.#repository.change(async (transaction) => {
      const project = assertFound(await this.#findByKey(key, transaction));
      assertCurrent(project);
      this.#assertVersion(change.version, project);
      const isArchived = project.archivedAt !== null;
      const wanted = {
        id: project.id,
        key: this.#wantedKey(change.key, project),
        name: change.name ?? project.name,
        isArchived: change.is_archived ?? isArchived,
      };
      if (project.id === defaultProjectId && wanted.isArchived)
        throw validationProblem([{ field: 'is_archived', message: 'must be false for the default project' }]);
      if (wanted.key === project.key && wanted.name === project.name && wanted.isArchived === isArchived)
        return project;
      if (wanted.key !== null && wanted.key !== project.key)
        await this.#rename(project, wanted.key, transaction);
      return this.#repository.update(wanted, transaction);
    });
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

function assertFound(project: Project | undefined): Project {
  if (project !== undefined) return project;
  throw new ProblemError({ status: 404, code: 'project_not_found', detail: 'There is no such project.' });
}

function keyTaken(): ProblemError {
  const detail = 'A project has or had this key.';
  return new ProblemError({ status: 409, code: 'project_key_taken', detail });
}
