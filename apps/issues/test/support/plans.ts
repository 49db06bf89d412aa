import type pg from 'pg';
import type { IssueListRequest } from '../../src/issue-list/issue-list.ts';
import { completeOrder } from '../../src/issue-list/issue-list.ts';
import { busyPerson } from './many-issues.ts';

/** What of a plan is looked at. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** How a statement went about the issues. */
export interface Plan {
  /** Sequential scans of the issues: none should be. */
  tableScans: number;
  indexes: string[];
  /** Issues that were looked at, of all scans together. */
  visited: number;
  milliseconds: number;
}

interface Statement {
  text: string;
  values: unknown[];
}

/** Runs a statement as a list's connection does, planned with its values, and tells how it went. */
export async function explain(client: pg.ClientBase, { text, values }: Statement): Promise<Plan> {
  const { rows } = await client.query({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values });
  const [{ Plan: root, 'Execution Time': milliseconds }] = rows[0]['QUERY PLAN'];
  // Of the ways that a search may go, those that it does not go are planned and never executed.
  const nodes = flatten(root).filter((node) => node['Actual Loops'] > 0);
  const scans = nodes.filter((node) => node['Relation Name'] === 'issues');
  return {
    tableScans: scans.filter((node) => node['Node Type'] === 'Seq Scan').length,
    indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))].sort(),
    visited: scans.reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    ),
    milliseconds,
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

/** A list, the indexes one of which has to serve it, and how many issues may be looked at for it at most. */
export interface PlanCase {
  name: string;
  request: IssueListRequest;
  indexes: string[];
  visited: number;
}

/** The lists that must stay fast however many issues there are. */
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
    list('a page far down', { ...newestFirst, ...deep }, 'issues_created_idx', 60),
    list(
      'a page far down of a status',
      { ...only({ statuses: ['OPEN'] }), ...deep },
      'issues_status_idx issues_created_idx',
      300,
    ),
    list('a rare word', only({ search: 'zebrafish' }), 'issues_search_idx', 4_010),
    list('a word that none has', only({ search: 'nosuchword' }), 'issues_search_idx', 4_000),
    list('a word of the newest', only({ search: 'recently' }), 'issues_created_idx', 11_000),
    list('a common word', only({ search: 'printer' }), 'issues_created_idx', 10_500),
    list('a word that all have', only({ search: 'everywhere' }), 'issues_created_idx', 10_100),
    list('a common word, far down', { ...only({ search: 'printer' }), ...deep }, 'issues_created_idx', 600),
    list(
      'a rare word of an open issue',
      only({ search: 'zebrafish', statuses: ['OPEN'] }),
      'issues_search_idx',
      9_000,
    ),
    list(
      'a word of the oldest, far from the first page',
      only({ search: 'formerly' }),
      'issues_search_idx',
      5_010,
    ),
    list('a word of one issue in two hundred', only({ search: 'seldom' }), 'issues_created_idx', 20_000),
    list('a number', only({ search: '4711', searchedNumber: 4711 }), 'issues_number_key', 4_100),
    list('a rare status', only({ statuses: ['REOPENED'] }), 'issues_status_idx', count / 1000 + 60),
    list('a common status', only({ statuses: ['CLOSED'] }), 'issues_status_idx issues_created_idx', 10_300),
    list(
      'open issues',
      only({ statuses: ['OPEN', 'IN_PROGRESS', 'REOPENED'] }),
      'issues_status_idx issues_created_idx',
      30_000,
    ),
    list('a priority', only({ priorities: ['URGENT'] }), 'issues_priority_idx issues_created_idx', 10_400),
    list('an assignee', only({ assigneeId: busyPerson }), 'issues_assignee_idx', count / 500),
    list('nobody', only({ assigneeId: null }), 'issues_assignee_idx issues_created_idx', 35_000),
    list('a reporter', only({ reporterId: busyPerson }), 'issues_reporter_idx', count / 500),
    list('a link', only({ links: [{ type: 'invoice', ref: '17' }] }), 'issue_links_ref_idx', count / 490),
    list('the latest', only({ createdFrom: recent }), 'issues_created_idx', 1_100),
    list(
      'what has changed lately',
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
