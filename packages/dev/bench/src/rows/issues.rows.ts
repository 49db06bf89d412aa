import { bare, bareCreates, bareReads, startBare } from '../contenders/bare.ts';
import { redmine, redmineName } from '../contenders/redmine.ts';
import { createContender, getContender, listContender } from '../contenders/tessera.ts';
import { getRequests, listRequests } from '../contenders/tessera-requests.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

export const getIssueRow: RowPlan = {
  name: 'get-issue',
  title: 'Get an issue with comments, links, reporter and assignee',
  goals: [
    { kind: 'ratio', of: bare, atLeast: 0.85 },
    { kind: 'ratio', of: redmineName, atLeast: 30 },
  ],
  open: async (lab, scope) => {
    const tessera = await lab.tessera();
    const row = new RowBuilder().add(await getContender(lab, tessera)).add(
      await bareReads(lab, await startBare(lab, scope), {
        service: tessera.issues.url,
        requests: getRequests(tessera),
        path: (_request, index) => `/issues/${tessera.issueIds[index]}`,
      }),
    );
    await row.addPeer(redmineName, () => redmine(lab, 'get'));
    return row.build();
  },
};

export const listIssuesRow: RowPlan = {
  name: 'list-issues',
  title: 'List 50 issues (Redmine: 25)',
  goals: [
    { kind: 'ratio', of: bare, atLeast: 1.3 },
    { kind: 'ratio', of: redmineName, atLeast: 55 },
  ],
  open: async (lab, scope) => {
    const tessera = await lab.tessera();
    const row = new RowBuilder().add(await listContender(lab, tessera)).add(
      await bareReads(lab, await startBare(lab, scope), {
        service: tessera.issues.url,
        requests: listRequests(tessera),
        path: () => '/issues',
      }),
    );
    await row.addPeer(redmineName, () => redmine(lab, 'list'));
    return row.build();
  },
};

export const createIssueRow: RowPlan = {
  name: 'create-issue',
  title: 'Create an issue with its history',
  goals: [
    { kind: 'ratio', of: bare, atLeast: 0.75 },
    { kind: 'ratio', of: redmineName, atLeast: 50 },
  ],
  open: async (lab, scope) => {
    const tessera = await lab.tessera();
    const row = new RowBuilder()
      .add(await createContender(lab, tessera))
      .add(await bareCreates(lab, await startBare(lab, scope), tessera));
    await row.addPeer(redmineName, () => redmine(lab, 'create'));
    return row.build();
  },
};
