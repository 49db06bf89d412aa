import { type IssuePriority, issuePriorities } from '@tessera/contracts';
import { z } from 'zod';
import { isSameName, type RemoteChange } from './external-tracker.ts';
import { listNames, type TrackerCheck } from './tracker-check.ts';
import type { RedmineSettings, TrackerWords } from './tracker-config.ts';
import { problemOr, TrackerError } from './tracker-error.ts';
import { otherServer } from './tracker-response.ts';
import { remoteNameSchema } from './tracker-text.ts';
import type { TrackerTransport } from './tracker-transport.ts';

const named = z.object({ id: z.int(), name: remoteNameSchema });
const userBody = z.object({
  user: z.object({
    admin: z.boolean().nullish(),
    memberships: z.array(z.object({ project: named, roles: z.array(named).default([]) })).default([]),
  }),
});
const projectBody = z.object({
  project: z.object({
    id: z.int(),
    status: z.int(),
    is_public: z.boolean().nullish(),
    enabled_modules: z.array(z.object({ name: z.string() })).optional(),
    trackers: z.array(named).default([]),
    // Requires Redmine 4.2 or later.
    issue_custom_fields: z.array(named).optional(),
  }),
});
const roleBody = z.object({ role: z.object({ permissions: z.array(z.string()).default([]) }) });
const statusesBody = z.object({
  issue_statuses: z.array(named.extend({ is_closed: z.boolean().nullish().transform(Boolean) })),
});
const prioritiesBody = z.object({ issue_priorities: z.array(named) });
const typesBody = z.object({ trackers: z.array(named) });

// Redmine's app/models/project.rb: 5 is closed, 9 archived.
const activeProject = 1;

const rolesMax = 10;

/** Redmine's names of the permissions (config/locales/en.yml) by their identifiers (lib/redmine/preparation.rb). */
const permissions = {
  view_issues: 'View issues',
  add_issues: 'Add issues',
  edit_issues: 'Edit issues',
  add_issue_notes: 'Add notes',
} as const;

interface RedmineProjectOptions {
  transport: TrackerTransport;
  /** The project's identifier or number. */
  project: string;
  words: TrackerWords;
  settings: RedmineSettings;
}

interface Vocabulary {
  projectId: number;
  statuses: z.output<typeof statusesBody>['issue_statuses'];
  priorities: z.output<typeof prioritiesBody>['issue_priorities'];
  loadedAt: number;
}

export const vocabularyLifetimeMs = 10 * 60_000;

/** The configured project: its checks, and the ids of its statuses and priorities, which requests and issues contain. */
export class RedmineProject {
  readonly #transport: TrackerTransport;
  readonly #project: string;
  readonly #words: TrackerWords;
  readonly #settings: RedmineSettings;
  #vocabulary: Vocabulary | undefined;

  constructor({ transport, project, words, settings }: RedmineProjectOptions) {
    this.#transport = transport;
    this.#project = project;
    this.#words = words;
    this.#settings = settings;
  }

  /** The project's number, which never changes. Undefined before `load`. */
  get id(): number | undefined {
    return this.#vocabulary?.projectId;
  }

  /** Reads the vocabulary, at most every ten minutes. Required before the methods below that take no signal. */
  async load(signal: AbortSignal): Promise<void> {
    const known = this.#vocabulary;
    if (known !== undefined && performance.now() - known.loadedAt < vocabularyLifetimeMs) return;
    const [projectId, { issue_statuses: statuses }, { issue_priorities: priorities }] = await Promise.all([
      known?.projectId ?? this.#readProject(signal).then(({ id }) => id),
      this.#get('/issue_statuses.json', statusesBody, signal),
      this.#get('/enumerations/issue_priorities.json', prioritiesBody, signal),
    ]);
    this.#vocabulary = { projectId, statuses, priorities, loadedAt: performance.now() };
  }

  statusId(state: string): number | undefined {
    return this.#vocabulary?.statuses.find(({ name }) => isSameName(name, state))?.id;
  }

  statusName(id: string): string | undefined {
    return this.#vocabulary?.statuses.find((status) => String(status.id) === id)?.name;
  }

  isClosed(state: string): boolean {
    return (
      this.#vocabulary?.statuses.some(({ name, is_closed }) => is_closed && isSameName(name, state)) ?? false
    );
  }

  priorityId(priority: IssuePriority): number | undefined {
    const word = this.#words.priorities[priority];
    return this.#vocabulary?.priorities.find(({ name }) => isSameName(name, word))?.id;
  }

  /** Returns the local priority with this name; undefined if there is none. */
  toPriority(name: string): IssuePriority | undefined {
    const { priorities } = this.#words;
    return issuePriorities.find((priority) => isSameName(priorities[priority], name));
  }

  /** Returns the local priority with this id in Redmine; undefined if there is none. */
  priorityWithId(id: string): IssuePriority | undefined {
    return this.toPriority(
      this.#vocabulary?.priorities.find((priority) => String(priority.id) === id)?.name ?? '',
    );
  }

  /** Throws if Redmine lacks the configured name of a value in a change; the next `load` reads the names again. */
  assertNames({ state, priority }: RemoteChange): void {
    const messages: string[] = [];
    if (state !== undefined && this.statusId(state) === undefined)
      messages.push(`Redmine has no status "${state}": correct TRACKER_STATUSES.`);
    if (priority !== undefined && this.priorityId(priority) === undefined)
      messages.push(
        `Redmine has no priority "${this.#words.priorities[priority]}": correct TRACKER_PRIORITIES.`,
      );
    if (messages.length === 0) return;
    // An administrator may add names at any time.
    if (this.#vocabulary !== undefined) this.#vocabulary.loadedAt = Number.NEGATIVE_INFINITY;
    throw new TrackerError('tracker_rejected', 'a configured name does not exist', { messages });
  }

  /** Returns the members that a Redmine may require in a new issue. */
  async requiredMembers(signal: AbortSignal): Promise<object> {
    const { type, customFields } = this.#settings;
    const fields = customFields.length === 0 ? {} : { custom_fields: customFields };
    if (type === undefined) return fields;
    const { trackers } = await this.#get('/trackers.json', typesBody, signal);
    const id = trackers.find(({ name }) => isSameName(name, type))?.id;
    if (id !== undefined) return { ...fields, tracker_id: id };
    throw new TrackerError('tracker_rejected', 'there is no such tracker type', {
      hadNoEffect: true,
      messages: [`Redmine has no tracker "${type}": correct TRACKER_TYPE.`],
    });
  }

  /** Returns the problem that prevents every sync; undefined if there is none. */
  async findProblem(signal: AbortSignal): Promise<TrackerError | undefined> {
    const user = await problemOr(this.#readUser(signal));
    if (user instanceof TrackerError) {
      // Redmine always has this path.
      if (user.code === 'project_not_found') return otherServer('redmine', user);
      // Redmine's app/controllers/application_controller.rb, require_login.
      return user.code === 'not_a_member' ? new TrackerError('rest_api_disabled', user.message) : user;
    }
    const project = await problemOr(this.#readProject(signal, 'enabled_modules'));
    if (project instanceof TrackerError) return project.code === 'not_a_member' ? noAccess(project) : project;
    const { id, status, is_public: isPublic, enabled_modules: modules } = project;
    if (status !== activeProject) return new TrackerError('project_archived', 'closed or archived');
    if (modules !== undefined && !modules.some(({ name }) => name === 'issue_tracking'))
      return new TrackerError('issues_disabled', 'the module issue_tracking is off');
    const { admin, memberships } = user;
    // In a public project, the role "Non member" can suffice.
    if (
      admin !== true &&
      isPublic !== true &&
      !memberships.some((membership) => membership.project.id === id)
    )
      return new TrackerError('not_a_member', 'no membership in the project');
    return undefined;
  }

  /** Checks the account's permissions in the project, and whether the configured names exist in Redmine. */
  async check(signal: AbortSignal): Promise<TrackerCheck[]> {
    const { memberships } = await this.#readUser(signal);
    const project = await this.#readProject(signal, 'trackers,issue_custom_fields');
    const roles = memberships.find((membership) => membership.project.id === project.id)?.roles ?? [];
    const granted: string[] = [];
    for (const { id } of roles.slice(0, rolesMax)) {
      granted.push(...(await this.#get(`/roles/${id}.json`, roleBody, signal)).role.permissions);
    }
    const { issue_statuses: statuses } = await this.#get('/issue_statuses.json', statusesBody, signal);
    const { issue_priorities: priorities } = await this.#get(
      '/enumerations/issue_priorities.json',
      prioritiesBody,
      signal,
    );
    // Redmine may have no status for reopened issues; they are then in progress.
    const { REOPENED: _optional, ...needed } = this.#words.statuses;
    const { type, customFields } = this.#settings;
    return [
      // Administrators and non-members have roles that their memberships do not contain.
      { name: 'permissions', problem: roles.length === 0 ? null : missingPermissions(roles, granted) },
      { name: 'statuses', problem: missingNames('status', 'TRACKER_STATUSES', needed, statuses) },
      {
        name: 'priorities',
        problem: missingNames('priority', 'TRACKER_PRIORITIES', this.#words.priorities, priorities),
      },
      { name: 'type', problem: missingType(type, project.trackers) },
      { name: 'custom_fields', problem: missingFields(customFields, project.issue_custom_fields) },
    ];
  }

  async #readUser(signal: AbortSignal) {
    return (await this.#get('/users/current.json', userBody, signal, 'memberships')).user;
  }

  async #readProject(signal: AbortSignal, include?: string) {
    return (await this.#get(`/projects/${this.#project}.json`, projectBody, signal, include)).project;
  }

  #get<Schema extends z.ZodType>(path: string, schema: Schema, signal: AbortSignal, include?: string) {
    const query = include === undefined ? {} : { query: { include } };
    return this.#transport.read({ method: 'GET', path, signal, ...query }, schema);
  }
}

// Redmine's response for an archived project, also to an administrator, is the same as without a role.
function noAccess({ message }: TrackerError): TrackerError {
  return new TrackerError('not_a_member', message, {
    hadNoEffect: true,
    detail:
      'The account of this service has no access to the project in Redmine: give it a role that may view, create and edit issues and add notes. If the project is archived, unarchive it, or correct TRACKER_PROJECT.',
  });
}

function missingPermissions(roles: readonly { name: string }[], granted: readonly string[]): string | null {
  const missing = Object.entries(permissions).filter(([permission]) => !granted.includes(permission));
  if (missing.length === 0) return null;
  const names = listNames(missing.map(([, name]) => name));
  return `The account lacks ${names}: grant them to one of its roles in the project, ${listNames(roles.map(({ name }) => name))}.`;
}

function missingNames(
  kind: string,
  variable: string,
  words: Readonly<Record<string, string>>,
  existing: readonly { name: string }[],
): string | null {
  const missing = Object.entries(words).filter(
    ([, word]) => !existing.some(({ name }) => isSameName(name, word)),
  );
  if (missing.length === 0) return null;
  const entries = listNames(missing.map(([key, word]) => `${key}=${word}`));
  const names = listNames(existing.map(({ name }) => name));
  return `Redmine has no ${kind} for ${entries}: correct ${variable}; its names are ${names}.`;
}

function missingType(type: string | undefined, existing: readonly { name: string }[]): string | null {
  if (existing.length === 0) return 'The project has no tracker: activate one in its settings.';
  if (type === undefined || existing.some(({ name }) => isSameName(name, type))) return null;
  const names = listNames(existing.map(({ name }) => name));
  return `The project has no tracker ${listNames([type])}: correct TRACKER_TYPE; its trackers are ${names}.`;
}

function missingFields(
  customFields: RedmineSettings['customFields'],
  existing: readonly { id: number; name: string }[] | undefined,
): string | null {
  const missing = customFields.filter(({ id }) => existing?.every((field) => field.id !== id) ?? false);
  if (existing === undefined || missing.length === 0) return null;
  const ids = listNames(missing.map(({ id }) => String(id)));
  const names = listNames(existing.map(({ id, name }) => `${id}=${name}`));
  return `The project has no custom field ${ids}: correct TRACKER_CUSTOM_FIELDS; its fields are ${names}.`;
}
