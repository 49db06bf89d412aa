import type { ProjectRole, ProjectVisibility } from '@tessera/contracts';

/** The issues that a reader sees. Every statement that reads issues for a person takes one, and there is none by default. */
export interface ReadScope {
  /** The ids of the projects of which the reader sees no issue. */
  readonly hidden: readonly string[];
  /** The ids of the projects of which the reader sees only the issues that they reported or are assigned to. */
  readonly own: readonly string[];
  /** What this was decided from: the role of the reader in each of the other projects that are not open to everyone. */
  readonly basis: readonly RestrictedProject[];
  /** The reader; null for the service itself. */
  readonly readerId: string | null;
}

/** A write was decided from an older state of projects and members than the present one. Nothing was written. */
export class StaleAccess extends Error {}

/** All issues, for work of the service that shows them to no one. */
export const systemScope: ReadScope = { hidden: [], own: [], basis: [], readerId: null };

/** Whether a scope has every issue. */
export function isWhole({ hidden, own }: ReadScope): boolean {
  return hidden.length === 0 && own.length === 0;
}

/** The ids of the projects whose events a reader does not get: those of which they see not all issues. */
export function unseenEvents({ hidden, own }: ReadScope): ReadonlySet<string> {
  return new Set([...hidden, ...own]);
}

/** A project that is not open to everyone, with the role of a person in it. */
export interface RestrictedProject {
  id: string;
  visibility: Exclude<ProjectVisibility, 'everyone'>;
  /** Whether it was changed after its creation, so that it may have been open to everyone. */
  wasChanged: boolean;
  role: ProjectRole | undefined;
}

/** How many issues of a project a person sees: all, those that they reported or are assigned to, or none. */
export type Sight = 'all' | 'own' | 'none';

/** Decides what a person sees of a project. `sightOf` in issue-store/sight.sql.ts decides the same for people other than the reader. */
export function sightOf(
  { visibility, role }: Pick<RestrictedProject, 'visibility' | 'role'>,
  isStaff: boolean,
): Sight {
  if (role !== undefined || (isStaff && visibility !== 'sealed')) return 'all';
  return visibility === 'reporters' ? 'own' : 'none';
}

/** What a person may see and do in the projects that are not open to everyone. */
export class ProjectAccess {
  readonly scope: ReadScope;
  readonly #restricted: ReadonlyMap<string, RestrictedProject>;
  readonly #sights: ReadonlyMap<string, Sight>;

  constructor(readerId: string, isStaff: boolean, restricted: readonly RestrictedProject[]) {
    this.#sights = new Map(restricted.map((project) => [project.id, sightOf(project, isStaff)]));
    const seen = (sight: Sight) => [...this.#sights].flatMap(([id, one]) => (one === sight ? [id] : []));
    const basis = restricted.filter(({ id }) => this.#sights.get(id) !== 'none');
    this.scope = { hidden: seen('none'), own: seen('own'), basis, readerId };
    this.#restricted = new Map(restricted.map((project) => [project.id, project]));
  }

  /** Whether the person sees other issues than with an earlier access. A project that was created hidden was not seen before. */
  differsFrom(before: ProjectAccess): boolean {
    const unknown = (id: string): Sight => (this.#restricted.get(id)?.wasChanged === false ? 'none' : 'all');
    const ids = [...this.#sights.keys(), ...before.#sights.keys()];
    return ids.some((id) => (before.#sights.get(id) ?? unknown(id)) !== (this.#sights.get(id) ?? 'all'));
  }

  /** The project, if it is not open to everyone. */
  restricted(projectId: string): RestrictedProject | undefined {
    return this.#restricted.get(projectId);
  }

  /** Whether the person sees an issue that others do not. */
  get seesRestricted(): boolean {
    return this.scope.hidden.length < this.#restricted.size;
  }

  hides(projectId: string): boolean {
    return this.scope.hidden.includes(projectId);
  }
}
