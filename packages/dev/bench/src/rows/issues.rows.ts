import { bare, bareCreates, bareReads } from '../contenders/bare.ts';
import { getRequests, listRequests } from '../contenders/endpoints.ts';
import { redmine, redmineName } from '../contenders/redmine.ts';
import { before } from '../contenders/tessera.ts';
import { endpointRow } from './row-plan.ts';

export const getIssueRow = endpointRow('get-issue', {
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

export const listIssuesRow = endpointRow('list-issues', {
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

export const createIssueRow = endpointRow('create-issue', {
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
