import { type ProjectRole, type ProjectVisibility, projectVisibilities } from '@tessera/contracts';
import type { Actor } from '../../../../../apps/issues/src/issue-core/actor.ts';
import {
  assertMayCreateIn,
  assertMayManage,
  type IssueAction,
  may,
} from '../../../../../apps/issues/src/issue-core/issue-access.ts';
import { ProjectAccess } from '../../../../../apps/issues/src/issue-core/project-access.ts';
import { code, table } from './table.ts';

interface Caller {
  name: string;
  role?: ProjectRole;
  isStaff?: boolean;
  isReporter?: boolean;
}

const callers: readonly Caller[] = [
  { name: 'any active user' },
  { name: 'reporter, assignee', isReporter: true },
  { name: 'viewer', role: 'viewer' },
  { name: 'viewer as reporter, assignee', role: 'viewer', isReporter: true },
  { name: 'member', role: 'member' },
  { name: 'manager', role: 'manager' },
  { name: 'staff, superuser', isStaff: true },
];
const actions: readonly [string, readonly IssueAction[]][] = [
  ['comment, watch', ['comment']],
  ['take an unassigned one', ['takeUnassigned']],
  ['link tickets, entities, invoices', ['link']],
  ['change, assign, move, other links, labels', ['update', 'assign']],
  ['status, sync', ['changeStatus', 'sync']],
  ['delete comments and files of others', ['deleteOfOthers']],
];
const columns = [
  'who',
  'sees issues',
  ...actions.map(([name]) => name),
  'creates issues',
  'settings, members',
];

/** docs/reference/rights.md: what the code that decides says for each kind of caller. */
export function rightsPage(): string {
  return [
    '# Rights in projects',
    `What each person may do with the issues of a project, by the project's \`visibility\`, as the code decides it.
[Projects](../issues/projects.md#who-reads) explains it, and [permissions](../issues/permissions.md) has what does not depend on a project.`,
    ...projectVisibilities.flatMap((visibility) => [
      `## ${code(visibility)}`,
      table(
        columns,
        callers.map((caller) => rowOf(caller, visibility)),
      ),
    ]),
  ].join('\n\n');
}

function rowOf({ name, role, isStaff = false, isReporter = false }: Caller, visibility: ProjectVisibility) {
  const [id, projectId] = ['caller', 'project'];
  const restricted =
    visibility === 'everyone' ? [] : [{ id: projectId, visibility, wasChanged: false, role }];
  const access = new ProjectAccess(id, isStaff, restricted);
  const actor: Actor = {
    id,
    username: '',
    email: '',
    isVerified: true,
    isStaff,
    isSuperuser: false,
    access,
    tokenExpiresAt: new Date(0),
    sessionEpoch: undefined,
  };
  const issue = { reporterId: isReporter ? id : 'other', assigneeId: null, projectId };
  const isOwn = access.scope.own.includes(projectId);
  const seen = access.hides(projectId) ? 'none' : isOwn ? 'own' : 'all';
  const mayDo = (wanted: readonly IssueAction[]) =>
    (seen === 'all' || (isOwn && isReporter)) && wanted.every((action) => may(actor, action, issue));
  return [
    name,
    seen,
    ...actions.map(([, wanted]) => yes(mayDo(wanted))),
    yes(seen !== 'none' && passes(() => assertMayCreateIn(actor, projectId))),
    yes(passes(() => assertMayManage(actor, visibility, role))),
  ];
}

const yes = (is: boolean) => (is ? 'yes' : '');

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}
