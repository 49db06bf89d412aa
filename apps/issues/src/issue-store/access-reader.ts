import type { ProjectRole } from '@tessera/contracts';
import { LRUCache } from 'lru-cache';
import type { Database } from '../database.ts';
import { ProjectAccess, type RestrictedProject } from '../issue-core/project-access.ts';

/** How long this process uses what it has read of projects and members: a person who was removed reads for so long at most. */
const cacheTtlMs = 2_000;
const peopleMax = 10_000;

type Roles = ReadonlyMap<string, ProjectRole>;
type Restricted = Omit<RestrictedProject, 'role'>;

/** Reads what people may see and do in projects. While all projects are open to everyone, it reads nothing of a person. */
export class AccessReader {
  readonly #database: Database;
  readonly #roles = new LRUCache<string, Promise<Roles>>({ max: peopleMax, ttl: cacheTtlMs });
  readonly #projects = new LRUCache<'all', Promise<Restricted[]>>({ max: 1, ttl: cacheTtlMs });
  /** What was decided from roles, for staff and others. */
  readonly #decided = new WeakMap<Roles, Map<boolean, { of: Restricted[]; access: ProjectAccess }>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns what a person may see. `isStaff`: whether the person has the rights of staff now. */
  async of(personId: string, isStaff: boolean): Promise<ProjectAccess> {
    const projects = await this.#restricted();
    return projects.length === 0
      ? new ProjectAccess(personId, isStaff, [])
      : this.#decide(personId, isStaff, projects, await this.#rolesOf(personId));
  }

  /** The same for another person, with the privileges of the mirror. */
  async ofMirrored(personId: string): Promise<ProjectAccess> {
    const [access] = await this.ofMany([{ id: personId, isStaff: true }]);
    return access ?? this.of(personId, false);
  }

  /** The same for many people. `isStaff`: whether the person had the rights of staff; they are read again. */
  async ofMany(people: readonly { id: string; isStaff: boolean }[]): Promise<ProjectAccess[]> {
    const projects = await this.#restricted();
    if (projects.length === 0) return people.map(({ id }) => new ProjectAccess(id, false, []));
    await this.#readRoles(people.map(({ id }) => id).filter((id) => !this.#roles.has(id)));
    const staff = await this.#findStaff(people.flatMap(({ id, isStaff }) => (isStaff ? [id] : [])));
    return Promise.all(
      people.map(async ({ id }) => this.#decide(id, staff.has(id), projects, await this.#rolesOf(id))),
    );
  }

  /** Whether a project is not open to everyone. */
  async hasRestricted(): Promise<boolean> {
    return (await this.#restricted()).length > 0;
  }

  /** Forgets what was read, after a change by this process. */
  forget(): void {
    this.#projects.clear();
    this.#roles.clear();
  }

  #decide(id: string, isStaff: boolean, projects: Restricted[], roles: Roles): ProjectAccess {
    const decided = this.#decided.get(roles) ?? new Map();
    this.#decided.set(roles, decided);
    const known = decided.get(isStaff);
    if (known?.of === projects) return known.access;
    const restricted = projects.map((project) => ({ ...project, role: roles.get(project.id) }));
    const access = new ProjectAccess(id, isStaff, restricted);
    decided.set(isStaff, { of: projects, access });
    return access;
  }

  async #restricted(): Promise<Restricted[]> {
    const known = this.#projects.get('all');
    if (known !== undefined) return known;
    const read = this.#database.$queryRaw<Restricted[]>`
      SELECT id, visibility, version > 1 AS "wasChanged" FROM projects WHERE visibility <> 'everyone' ORDER BY id`;
    return keep(this.#projects, 'all', read);
  }

  async #rolesOf(personId: string): Promise<Roles> {
    return (
      this.#roles.get(personId) ??
      keep(
        this.#roles,
        personId,
        this.#findRoles([personId]).then((found) => found.get(personId) ?? new Map()),
      )
    );
  }

  async #readRoles(people: readonly string[]): Promise<void> {
    if (people.length === 0) return;
    const found = await this.#findRoles(people);
    for (const id of people) this.#roles.set(id, Promise.resolve(found.get(id) ?? new Map()));
  }

  async #findRoles(people: readonly string[]): Promise<Map<string, Map<string, ProjectRole>>> {
    const rows = await this.#database.$queryRaw<{ userId: string; projectId: string; role: ProjectRole }[]>`
      SELECT user_id AS "userId", project_id AS "projectId", role FROM project_members
       WHERE user_id = ANY(${[...people]}::uuid[])`;
    const found = new Map<string, Map<string, ProjectRole>>();
    for (const { userId, projectId, role } of rows) {
      const roles = found.get(userId) ?? new Map();
      found.set(userId, roles.set(projectId, role));
    }
    return found;
  }

  async #findStaff(people: readonly string[]): Promise<ReadonlySet<string>> {
    if (people.length === 0) return new Set();
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      SELECT id FROM identity_mirror WHERE id = ANY(${[...people]}::uuid[]) AND (is_staff OR is_superuser)`;
    return new Set(rows.map(({ id }) => id));
  }
}

/** Keeps a promise in a cache, unless it fails. */
function keep<Key extends string, Value extends {}>(
  cache: LRUCache<Key, Promise<Value>>,
  key: Key,
  value: Promise<Value>,
): Promise<Value> {
  cache.set(key, value);
  value.catch(() => {
    if (cache.peek(key) === value) cache.delete(key);
  });
  return value;
}
