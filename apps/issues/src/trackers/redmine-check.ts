import { z } from 'zod';
import { isSameName, type RedmineSettings, type TrackerWords } from './external-tracker.ts';
import { listNames, type TrackerCheck } from './tracker-check.ts';
import type { TrackerTransport } from './tracker-transport.ts';

interface CheckedRedmine extends RedmineSettings {
  transport: TrackerTransport;
  project: string;
  words: TrackerWords;
  signal: AbortSignal;
}

const named = z.object({ id: z.int(), name: z.string() });
const userBody = z.object({
  user: z.object({
    admin: z.boolean().nullish(),
    memberships: z.array(z.object({ project: named, roles: z.array(named).default([]) })).default([]),
  }),
});
const projectBody = z.object({
  project: z.object({
    id: z.int(),
    trackers: z.array(named).default([]),
    // Requires Redmine 4.2 or later.
    issue_custom_fields: z.array(named).optional(),
  }),
});
const roleBody = z.object({ role: z.object({ permissions: z.array(z.string()).default([]) }) });
const statusesBody = z.object({ issue_statuses: z.array(named) });
const prioritiesBody = z.object({ issue_priorities: z.array(named) });

const rolesMax = 10;

/** Redmine's names of the permissions (config/locales/en.yml) by their identifiers (lib/redmine/preparation.rb). */
const permissions = {
  view_issues: 'View issues',
  add_issues: 'Add issues',
  edit_issues: 'Edit issues',
  add_issue_notes: 'Add notes',
} as const;

/** Checks the account's permissions in the project, and whether the configured names exist in Redmine. */
export async function checkRedmine(redmine: CheckedRedmine): Promise<TrackerCheck[]> {
  const { transport, signal, words } = redmine;
  const get = <Schema extends z.ZodType>(path: string, schema: Schema, include?: string) =>
    transport.read(
      { method: 'GET', path, signal, ...(include === undefined ? {} : { query: { include } }) },
      schema,
    );
  const { user } = await get('/users/current.json', userBody, 'memberships');
  const path = `/projects/${redmine.project}.json`;
  const { project } = await get(path, projectBody, 'trackers,issue_custom_fields');
  const roles = user.memberships.find((membership) => membership.project.id === project.id)?.roles ?? [];
  const granted: string[] = [];
  for (const { id } of roles.slice(0, rolesMax)) {
    granted.push(...(await get(`/roles/${id}.json`, roleBody)).role.permissions);
  }
  const { issue_statuses: statuses } = await get('/issue_statuses.json', statusesBody);
  const { issue_priorities: priorities } = await get('/enumerations/issue_priorities.json', prioritiesBody);
  // Redmine may have no status for reopened issues; they are then in progress.
  const { REOPENED: _optional, ...needed } = words.statuses;
  return [
    // Administrators and non-members have roles that their memberships do not contain.
    { name: 'permissions', problem: roles.length === 0 ? null : missingPermissions(roles, granted) },
    { name: 'statuses', problem: missingNames('status', 'TRACKER_STATUSES', needed, statuses) },
    {
      name: 'priorities',
      problem: missingNames('priority', 'TRACKER_PRIORITIES', words.priorities, priorities),
    },
    { name: 'type', problem: missingType(redmine.type, project.trackers) },
    { name: 'custom_fields', problem: missingFields(redmine, project.issue_custom_fields) },
  ];
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
  { customFields }: RedmineSettings,
  existing: readonly { id: number; name: string }[] | undefined,
): string | null {
  const missing = customFields.filter(({ id }) => existing?.every((field) => field.id !== id) ?? false);
  if (existing === undefined || missing.length === 0) return null;
  const ids = listNames(missing.map(({ id }) => String(id)));
  const names = listNames(existing.map(({ id, name }) => `${id}=${name}`));
  return `The project has no custom field ${ids}: correct TRACKER_CUSTOM_FIELDS; its fields are ${names}.`;
}
