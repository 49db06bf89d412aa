import type { OrderingField } from '@tessera/contracts';
import type pg from 'pg';
import { defaultProjectId } from '../../src/issue-core/project.ts';
import { type ReadScope, systemScope } from '../../src/issue-core/project-access.ts';
import type { IssueListRequest } from '../../src/issue-list/issue-list.ts';
import { completeOrder } from '../../src/issue-list/issue-list.ts';
import {
  busyPerson,
  commonLabel,
  oldProject,
  otherProjects,
  rareLabel,
  rareProject,
  sixtyProjects,
} from './many-issues.ts';

/** The part of a query plan that the tests read. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** The relevant parts of a query plan. */
export interface Plan {
  /** The number of sequential scans of the issues, their words or their comments. */
  tableScans: number;
  /** The tables with a sequential scan. */
  scanned: string[];
  indexes: string[];
  /** The number of issues that all scans read. */
  visited: number;
  /** The number of comments that all scans read. */
  comments: number;
  /** The number of entries of the history that all scans read. */
  entries: number;
  milliseconds: number;
  /** The number of blocks of 8 kB that the statement reads. Other work of the machine does not change it. */
  buffers: number;
}

interface Statement {
  text: string;
  values: unknown[];
}

/** Runs a statement planned with its values, like the connections of lists, and returns its plan. */
export async function explain(client: pg.ClientBase, { text, values }: Statement): Promise<Plan> {
  const { rows } = await client.query({ text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values });
  const [{ Plan: root, 'Execution Time': milliseconds }] = rows[0]['QUERY PLAN'];
  // Alternatives that a search does not take are planned but never executed.
  const nodes = flatten(root).filter((node) => node['Actual Loops'] > 0);
  const readFrom = (table: string) =>
    nodes
      .filter((node) => node['Relation Name'] === table)
      .reduce(
        (sum, node) =>
          sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      );
  const isTableScan = (node: PlanNode) =>
    node['Node Type'] === 'Seq Scan' && /^(issues|issue_search|comments)$/.test(node['Relation Name'] ?? '');
  return {
    tableScans: nodes.filter(isTableScan).length,
    scanned: nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [])),
    indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))].sort(),
    visited: readFrom('issues'),
    comments: readFrom('comments'),
    entries: readFrom('activity'),
    milliseconds,
    buffers: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
  };
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

const newestFirst: IssueListRequest = {
  scope: systemScope,
  filters: {},
  sort: completeOrder(),
  size: 50,
  offset: 0,
  total: 'capped',
};

function by(field: Exclude<OrderingField, 'created_at'>, descending: boolean): IssueListRequest {
  return { ...newestFirst, total: 'none', sort: completeOrder([{ field, descending }]) };
}

function mixed(...keys: string[]): IssueListRequest {
  const sort = keys.map((key) => ({
    field: key.replace('-', '') as OrderingField,
    descending: key.startsWith('-'),
  }));
  return { ...newestFirst, total: 'none', sort: completeOrder(sort) };
}

function only(filters: IssueListRequest['filters']): IssueListRequest {
  return { ...newestFirst, filters };
}

function labelled(...label: string[]): IssueListRequest {
  return only({ label });
}

function inProjects(...project: string[]): IssueListRequest {
  return only({ project });
}

/** The scope of a person who sees only some projects. */
function seeing(...projectIds: string[]): ReadScope {
  const all = [defaultProjectId, oldProject, rareProject, ...otherProjects];
  return { hidden: all.filter((id) => !projectIds.includes(id)), own: [], basis: [], readerId: busyPerson };
}

/**
 * What different people see, and the number of blocks that a list may read for them. It depends on the number of projects, of which
 * each costs a few blocks, and on that of their issues up to a maximum, but not on that of all issues.
 */
export const readers: readonly { sees: string; scope: ReadScope; buffers: number }[] = [
  { sees: 'a project of old issues', scope: seeing(oldProject), buffers: 7_500 },
  { sees: 'that and a small one', scope: seeing(oldProject, ...sixtyProjects.slice(0, 1)), buffers: 8_000 },
  { sees: 'three small projects', scope: seeing(...sixtyProjects.slice(0, 3)), buffers: 8_500 },
  { sees: 'sixty projects', scope: seeing(...sixtyProjects), buffers: 22_500 },
  {
    sees: 'all but the largest project',
    scope: seeing(oldProject, rareProject, ...otherProjects),
    buffers: 27_000,
  },
  {
    sees: 'only own issues',
    scope: {
      hidden: [rareProject, ...otherProjects],
      own: [defaultProjectId, oldProject],
      basis: [],
      readerId: busyPerson,
    },
    buffers: 7_500,
  },
  { sees: 'all but a small project', scope: { ...seeing(), hidden: [rareProject] }, buffers: 10_500 },
];

/** Filters of lists for these people: with one, with two that many issues match, and with two that none does. */
export const readFilters: readonly IssueListRequest['filters'][] = [
  {},
  { status: ['OPEN', 'IN_PROGRESS', 'REOPENED'] },
  { status: ['REOPENED'] },
  { assignee: [busyPerson] },
  { status: ['CLOSED'], priority: ['LOW'] },
  { status: ['IN_PROGRESS'], priority: ['HIGH'] },
];

const nothingHidden = { hidden: [], own: [], basis: [], readerId: busyPerson };

/** A list, the indexes that may serve it, and the maximum number of blocks read. */
export interface PlanCase {
  name: string;
  request: IssueListRequest;
  indexes: string[];
  buffers: number;
}

/** The lists of different readers, with the indexes of the issues that they read first. */
export function readerCases(): PlanCase[] {
  const indexes = ['project', 'created', 'status', 'assignee'].map((name) => `issues_${name}_idx`);
  return readers.flatMap(({ sees, scope, buffers }) =>
    readFilters.map((filters) => ({
      name: `${sees}: ${JSON.stringify(filters)}`,
      request: { ...newestFirst, scope, filters },
      indexes,
      buffers,
    })),
  );
}

const manyIds = Array.from(
  { length: 50 },
  (_, index) => `01980c5e-0000-7000-8000-${String(index).padStart(12, '0')}`,
);
const manyNumbers = Array.from({ length: 50 }, (_, index) => 1 + index * 1_000);

/** The lists that must stay fast with any number of issues. */
export function planCases(count: number): PlanCase[] {
  const middle = new Date(Date.now() - count * 1000).toISOString();
  const deep = { total: 'none' as const, after: [middle, busyPerson] };
  const recent = new Date(Date.now() - 2_000_000);
  const list = (name: string, request: IssueListRequest, index: string, buffers = 2_000): PlanCase => ({
    name,
    request,
    indexes: index.split(' '),
    buffers,
  });
  // Limits that do not depend on the number of issues: 2,000 issues with their comments, 1,000 issues, 10,000 comments.
  const search = (name: string, request: IssueListRequest, index: string): PlanCase =>
    list(name, request, index, 9_500);
  return [
    list('the first page', newestFirst, 'issues_created_idx'),
    list('a late page', { ...newestFirst, ...deep }, 'issues_created_idx'),
    list(
      'a late page of a status',
      { ...only({ status: ['OPEN'] }), ...deep },
      'issues_status_idx issues_created_idx',
    ),
    search('a rare word', only({ search: 'zebrafish' }), 'issue_search_words_idx'),
    search('the beginning of a rare word', only({ search: 'zebra' }), 'issue_search_words_idx'),
    search('the beginning of many words', only({ search: 'w12' }), 'issues_created_idx'),
    list('several assignees', only({ assignee: [busyPerson, manyIds[0] ?? null] }), 'issues_assignee_idx'),
    list(
      'an assignee, or none',
      only({ assignee: [busyPerson, null] }),
      'issues_assignee_idx issues_created_idx',
    ),
    search('a rare word of comments', only({ search: 'walrus' }), 'comments_words_idx'),
    search('a word of every second comment', only({ search: 'remark' }), 'issues_created_idx'),
    search('a word of many comments of one issue', only({ search: 'chatter' }), 'issues_created_idx'),
    search('a word of no issue', only({ search: 'nosuchword' }), 'issue_search_words_idx'),
    search('a word of the newest issues', only({ search: 'recently' }), 'issues_created_idx'),
    search('a common word', only({ search: 'printer' }), 'issues_created_idx'),
    search('a word of every issue', only({ search: 'everywhere' }), 'issues_created_idx'),
    search('a late page of a common word', { ...only({ search: 'printer' }), ...deep }, 'issues_created_idx'),
    search(
      'a rare word of an open issue',
      only({ search: 'zebrafish', status: ['OPEN'] }),
      'issue_search_words_idx',
    ),
    search('a word of the oldest issues', only({ search: 'formerly' }), 'issue_search_words_idx'),
    search('a word of one issue in two hundred', only({ search: 'seldom' }), 'issues_created_idx'),
    search('a number', only({ search: '4711', searchedNumber: { number: 4711 } }), 'issues_number_key'),
    list('ids', only({ id: { ids: manyIds, numbers: [] } }), 'issues_pkey'),
    list(
      'ids and numbers',
      only({ id: { ids: manyIds, numbers: manyNumbers.map((number) => ({ number })) } }),
      'issues_number_key',
    ),
    list('a rare status', only({ status: ['REOPENED'] }), 'issues_status_idx'),
    list('a common status', only({ status: ['CLOSED'] }), 'issues_status_idx issues_created_idx'),
    list(
      'open issues',
      only({ status: ['OPEN', 'IN_PROGRESS', 'REOPENED'] }),
      'issues_status_idx issues_created_idx',
    ),
    list('a priority', only({ priority: ['URGENT'] }), 'issues_priority_idx issues_created_idx'),
    list('an assignee', only({ assignee: [busyPerson] }), 'issues_assignee_idx'),
    list('unassigned issues', only({ assignee: [null] }), 'issues_assignee_idx issues_created_idx'),
    list('a reporter', only({ reporter: busyPerson }), 'issues_reporter_idx'),
    list('a link', only({ link: { type: 'invoice', ref: '17' } }), 'issue_links_ref_idx'),
    list('a rare label', labelled(rareLabel), 'issues_labels_idx'),
    list('a common label', labelled(commonLabel), 'issues_labels_idx issues_created_idx'),
    list('a project', inProjects(oldProject), 'issues_project_idx'),
    list('two projects', inProjects(oldProject, rareProject), 'issues_project_idx'),
    list('a late page of a project', { ...inProjects(defaultProjectId), ...deep }, 'issues_project_idx'),
    list(
      'open issues of a rare project',
      only({ status: ['OPEN'], project: [rareProject] }),
      'issues_project_idx issues_created_idx issues_status_idx',
    ),
    list(
      'open issues of a project of the oldest issues',
      only({ status: ['OPEN'], project: [oldProject] }),
      'issues_project_idx issues_created_idx issues_status_idx',
    ),
    search(
      'a common word in a rare project',
      only({ search: 'printer', project: [rareProject] }),
      'issues_project_idx',
    ),
    list('without the default project', only({ '-project': [defaultProjectId] }), 'issues_created_idx'),
    list(
      'for a reader who sees all but a project',
      { ...newestFirst, scope: { ...nothingHidden, hidden: [rareProject] } },
      'issues_created_idx',
    ),
    search(
      'a rare word for a reader who sees only the oldest issues',
      { ...only({ search: 'zebrafish' }), scope: { ...nothingHidden, hidden: [defaultProjectId] } },
      'issue_search_words_idx',
    ),
    list('two labels', labelled(rareLabel, commonLabel), 'issues_labels_idx'),
    list('without a common label', only({ '-label': [commonLabel] }), 'issues_created_idx'),
    list(
      'no issue of a label without another',
      only({ label: [commonLabel], '-label': [commonLabel] }),
      'issues_created_idx',
    ),
    list(
      'no issue of a label without another, by change',
      { ...only({ label: [commonLabel], '-label': [commonLabel] }), sort: by('updated_at', true).sort },
      'issues_updated_idx',
    ),
    list('the issues of other people', only({ '-assignee': [busyPerson, null] }), 'issues_created_idx'),
    list(
      'a status without its reporters',
      only({ status: ['OPEN'], priority: ['LOW'], '-reporter': [busyPerson] }),
      'issues_created_idx',
    ),
    list('a watcher of many issues', only({ watcher: busyPerson }), 'issue_watchers_user_idx'),
    list('a watcher of no issue', only({ watcher: manyIds[2] }), 'issue_watchers_user_idx'),
    list(
      'no issue of a watcher',
      only({ watcher: busyPerson, status: ['IN_PROGRESS'], priority: ['HIGH'] }),
      'issues_created_idx',
    ),
    list(
      'no issue of a watcher, by change',
      {
        ...only({ watcher: busyPerson, priority: ['HIGH'], status: ['IN_PROGRESS'] }),
        sort: by('updated_at', true).sort,
      },
      'issues_updated_idx',
    ),
    search(
      'a common word of a watcher',
      only({ search: 'printer', watcher: busyPerson }),
      'issue_watchers_user_idx',
    ),
    list('a failed sync', only({ sync: 'failed' }), 'tracker_links_attention_idx'),
    list('a conflict', only({ sync: 'conflict' }), 'tracker_links_conflicts_idx'),
    list('a stale sync', only({ sync: 'stale' }), 'issues_created_idx'),
    list('the latest issues', only({ created_after: recent }), 'issues_created_idx'),
    list(
      'recently changed issues',
      { ...only({ updated_after: recent }), sort: by('updated_at', false).sort },
      'issues_updated_idx',
    ),
    ...(['updated_at', 'priority', 'status', 'due_on', 'title'] as const).flatMap((field) =>
      [false, true].map((descending) =>
        list(
          `by ${field}, ${descending ? 'descending' : 'ascending'}`,
          by(field, descending),
          `issues_${field.replace(/_(?:at|on)/, '')}_idx`,
        ),
      ),
    ),
    list('issues due within a week', only({ due_within: 7 }), 'issues_due_idx issues_created_idx'),
    list('overdue issues', only({ is_overdue: true }), 'issues_due_idx issues_created_idx'),
    list('by number', by('number', true), 'issues_number_key'),
    // Filters that each match many issues, and few or none together.
    list(
      'no issue of two filters',
      only({ status: ['IN_PROGRESS'], priority: ['HIGH'] }),
      'issues_created_idx',
    ),
    list(
      'no issue of two filters, by title',
      { ...only({ status: ['IN_PROGRESS'], priority: ['HIGH'] }), sort: by('title', false).sort },
      'issues_title_idx',
    ),
    list(
      'no issue of a label and a status',
      only({ label: [commonLabel], status: ['OPEN'], priority: ['LOW'] }),
      'issues_created_idx',
    ),
    list(
      'a rare status in a long time',
      only({ status: ['REOPENED'], created_before: new Date(middle) }),
      'issues_status_idx',
    ),
    list(
      'a priority of a person',
      only({ priority: ['LOW'], assignee: [busyPerson] }),
      'issues_assignee_idx',
    ),
    // Orders that no index has.
    list('by priority, the oldest first', mixed('-priority', 'created_at'), 'issues_priority_idx'),
    list(
      'by priority, the oldest first, far down',
      { ...mixed('-priority', 'created_at'), after: ['LOW', middle, busyPerson] },
      'issues_priority_idx',
    ),
    list('by status and change', mixed('status', '-updated_at'), 'issues_created_idx'),
    list('by three fields', mixed('priority', 'status', '-updated_at'), 'issues_created_idx'),
    list('by priority and title', mixed('-priority', 'title'), 'issues_created_idx'),
    // Pages by number, with an exact total.
    list('page 200', { ...newestFirst, offset: 9_950, total: 'exact' }, 'issues_created_idx'),
    list(
      'page 200 of a status',
      { ...only({ status: ['CLOSED'] }), offset: 9_950, total: 'exact' },
      'issues_status_idx',
    ),
    // The index has no titles, only what orders them.
    list(
      'page 200 by title',
      { ...by('title', false), offset: 9_950, total: 'exact' },
      'issues_title_idx',
      10_800,
    ),
    search(
      'the first page of a common word',
      { ...only({ search: 'everywhere' }), total: 'exact' },
      'issues_created_idx',
    ),
  ];
}
