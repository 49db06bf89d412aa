import { bare, bareCreates, bareReads } from '../contenders/bare.ts';
import { coldGet, coldList, coldListPositions, coldRows } from '../contenders/cold-cache.ts';
import {
  createsWithFiles,
  endpoints,
  getRequests,
  issuesPath,
  listRequests,
} from '../contenders/endpoints.ts';
import { redmine, redmineName } from '../contenders/redmine.ts';
import { before } from '../contenders/tessera.ts';
import { endpointRow } from './row-plan.ts';

export const getIssueRow = endpointRow({
  name: 'get-issue',
  endpoint: endpoints['get-issue'],
  title: 'Get an issue with comments, links, reporter and assignee',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    { kind: 'ratio', of: bare, atLeast: 0.85 },
    { kind: 'ratio', of: redmineName, atLeast: 30 },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    row.add(await bareReads(lab, scope, { tessera, service: 'issues', requests: getRequests(tessera) }));
    await row.addPeer(redmineName, () => redmine(lab, 'get'));
  },
});

export const listIssuesRow = endpointRow({
  name: 'list-issues',
  endpoint: endpoints['list-issues'],
  title: 'List 50 issues (Redmine: 25)',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    { kind: 'ratio', of: bare, atLeast: 1.3 },
    { kind: 'ratio', of: redmineName, atLeast: 55 },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    row.add(await bareReads(lab, scope, { tessera, service: 'issues', requests: listRequests(tessera) }));
    await row.addPeer(redmineName, () => redmine(lab, 'list'));
  },
});

export const searchIssuesRow = endpointRow({
  name: 'search-issues',
  endpoint: endpoints['search-issues'],
  title: 'Search 50 issues by a word',
  goals: [{ kind: 'ratio', of: before, atLeast: 0.9 }],
  addReferences: async () => undefined,
});

export const coldGetIssueRow = endpointRow({
  name: 'cold-get-issue',
  endpoint: coldGet,
  title: 'Get an issue that is not cached',
  rows: coldRows,
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    { kind: 'ratio', of: bare },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    const requests = await coldGet.requests(tessera);
    row.add(await bareReads(lab, scope, { tessera, service: 'issues', requests }));
  },
});

export const coldListIssuesRow = endpointRow({
  name: 'cold-list-issues',
  endpoint: coldList,
  title: 'List 50 issues that are not cached',
  rows: coldRows,
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    { kind: 'ratio', of: bare },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    const requests = await coldList.requests(tessera);
    const positions = await coldListPositions(tessera);
    const path = (index: number) => `${issuesPath}?${new URLSearchParams({ ...positions[index] })}`;
    row.add(await bareReads(lab, scope, { tessera, service: 'issues', requests, path }));
  },
});

export const createIssueRow = endpointRow({
  name: 'create-issue',
  endpoint: endpoints['create-issue'],
  title: 'Create an issue with its history',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    { kind: 'ratio', of: bare, atLeast: 0.75 },
    { kind: 'ratio', of: redmineName, atLeast: 50 },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    row.add(await bareCreates(lab, scope, tessera));
    await row.addPeer(redmineName, () => redmine(lab, 'create'));
  },
});

export const createWithFileRow = endpointRow({
  name: 'create-with-file',
  endpoint: endpoints['create-with-file'],
  title: 'Create an issue that shows an uploaded file',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    { kind: 'ratio', of: bare },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    row.add(await bareCreates(lab, scope, tessera, createsWithFiles));
  },
});
