import type pg from 'pg';
import type { IssueListRequest } from '../../src/issue-list/issue-list.ts';
import { completeOrder } from '../../src/issue-list/issue-list.ts';
import { busyPerson, commonLabel, rareLabel } from './many-issues.ts';

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
  filters: {},
  sort: completeOrder(),
  size: 50,
  offset: 0,
  total: 'capped',
};

function by(
  field: 'updated_at' | 'priority' | 'status' | 'title' | 'number',
  descending: boolean,
): IssueListRequest {
  return { ...newestFirst, total: 'none', sort: completeOrder([{ field, descending }]) };
}

function only(filters: IssueListRequest['filters']): IssueListRequest {
  return { ...newestFirst, filters };
}

function labelled(...labelIds: string[]): IssueListRequest {
  return { ...newestFirst, labelIds };
}

/** A list, the indexes that may serve it, and the maximum number of issues read. */
export interface PlanCase {
  name: string;
  request: IssueListRequest;
  indexes: string[];
  visited: number;
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
  const list = (name: string, request: IssueListRequest, index: string, visited: number): PlanCase => ({
    name,
    request,
    indexes: index.split(' '),
    visited,
  });
  return [
    list('the first page', newestFirst, 'issues_created_idx', 10_060),
    list('a late page', { ...newestFirst, ...deep }, 'issues_created_idx', 60),
    list(
      'a late page of a status',
      { ...only({ statuses: ['OPEN'] }), ...deep },
      'issues_status_idx issues_created_idx',
      300,
    ),
    list('a rare word', only({ search: 'zebrafish' }), 'issue_search_words_idx', 4_010),
    list('the beginning of a rare word', only({ search: 'zebra' }), 'issue_search_words_idx', 4_010),
    list('the beginning of many words', only({ search: 'w12' }), 'issues_created_idx', 20_000),
    list(
      'several assignees',
      only({ assigneeIds: [busyPerson, manyIds[0] ?? null] }),
      'issues_assignee_idx',
      count / 500,
    ),
    list(
      'an assignee, or none',
      only({ assigneeIds: [busyPerson, null] }),
      'issues_assignee_idx issues_created_idx',
      45_000,
    ),
    list('a rare word of comments', only({ search: 'walrus' }), 'comments_words_idx', 4_010),
    list('a word of every second comment', only({ search: 'remark' }), 'issues_created_idx', 14_010),
    list('a word of many comments of one issue', only({ search: 'chatter' }), 'issues_created_idx', 14_010),
    list('a word of no issue', only({ search: 'nosuchword' }), 'issue_search_words_idx', 4_000),
    list('a word of the newest issues', only({ search: 'recently' }), 'issues_created_idx', 11_000),
    list('a common word', only({ search: 'printer' }), 'issues_created_idx', 10_500),
    list('a word of every issue', only({ search: 'everywhere' }), 'issues_created_idx', 10_100),
    list(
      'a late page of a common word',
      { ...only({ search: 'printer' }), ...deep },
      'issues_created_idx',
      600,
    ),
    list(
      'a rare word of an open issue',
      only({ search: 'zebrafish', statuses: ['OPEN'] }),
      'issue_search_words_idx',
      9_000,
    ),
    list('a word of the oldest issues', only({ search: 'formerly' }), 'issue_search_words_idx', 5_010),
    list('a word of one issue in two hundred', only({ search: 'seldom' }), 'issues_created_idx', 20_000),
    list('a number', only({ search: '4711', searchedNumber: 4711 }), 'issues_number_key', 4_100),
    list('ids', only({ references: { ids: manyIds, numbers: [] } }), 'issues_pkey', 200),
    list(
      'ids and numbers',
      only({ references: { ids: manyIds, numbers: manyNumbers } }),
      'issues_number_key',
      400,
    ),
    list('a rare status', only({ statuses: ['REOPENED'] }), 'issues_status_idx', count / 1000 + 60),
    list('a common status', only({ statuses: ['CLOSED'] }), 'issues_status_idx issues_created_idx', 10_300),
    list(
      'open issues',
      only({ statuses: ['OPEN', 'IN_PROGRESS', 'REOPENED'] }),
      'issues_status_idx issues_created_idx',
      30_000,
    ),
    list('a priority', only({ priorities: ['URGENT'] }), 'issues_priority_idx issues_created_idx', 10_400),
    list('an assignee', only({ assigneeIds: [busyPerson] }), 'issues_assignee_idx', count / 500),
    list(
      'unassigned issues',
      only({ assigneeIds: [null] }),
      'issues_assignee_idx issues_created_idx',
      45_000,
    ),
    list('a reporter', only({ reporterId: busyPerson }), 'issues_reporter_idx', count / 500),
    list('a link', only({ links: [{ type: 'invoice', ref: '17' }] }), 'issue_links_ref_idx', count / 490),
    list('a rare label', labelled(rareLabel), 'issues_labels_idx', count / 490),
    list('a common label', labelled(commonLabel), 'issues_labels_idx issues_created_idx', 14_000),
    list('two labels', labelled(rareLabel, commonLabel), 'issues_labels_idx', count / 490),
    list('a failed sync', only({ sync: 'failed' }), 'tracker_links_attention_idx', count / 490),
    list('a conflict', only({ sync: 'conflict' }), 'tracker_links_conflicts_idx', count / 490),
    // Parallel workers read 23,000 to 26,000 issues until the page is full.
    list('a stale sync', only({ sync: 'stale' }), 'issues_created_idx', 40_000),
    list('the latest issues', only({ createdFrom: recent }), 'issues_created_idx', 1_100),
    list(
      'recently changed issues',
      { ...only({ updatedFrom: recent }), sort: by('updated_at', false).sort },
      'issues_updated_idx',
      1_100,
    ),
    ...(['updated_at', 'priority', 'status', 'title'] as const).flatMap((field) =>
      [false, true].map((descending) =>
        list(
          `by ${field}, ${descending ? 'descending' : 'ascending'}`,
          by(field, descending),
          `issues_${field.replace('_at', '')}_idx`,
          60,
        ),
      ),
    ),
    list('by number', by('number', true), 'issues_number_key', 60),
  ];
}
