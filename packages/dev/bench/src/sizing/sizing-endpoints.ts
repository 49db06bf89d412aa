import { type Endpoint, issuesPath, listRequest } from '../contenders/endpoints.ts';
import type { Person, Tessera } from '../lab/tessera.ts';
import type { LoadRequest } from '../load/load.ts';

/** The requests that the web app sends for each event while a list is open: the list, limited to the changed issue. */
export const listChanged: Endpoint = {
  service: 'issues',
  requests: (tessera) =>
    tessera.issueIds.map((id, index) => ({
      ...listRequest(tessera, index, `${issuesPath}?limit=50&id=${id}`),
    })),
};

/** Comments of the person after the reporter, so that each comment notifies one person, the reporter. */
export const addComment: Endpoint = {
  service: 'issues',
  requests: async (tessera) =>
    (await createdIssues(tessera)).map(({ id, reporter }) =>
      post(personAfter(tessera, reporter), `${id}/comments/`, {
        body: 'I can reproduce this on the test system.',
      }),
    ),
};

// Each is a legal change from the one before, and the first also from OPEN.
const statuses = ['IN_PROGRESS', 'RESOLVED', 'REOPENED'];

/** Every issue changes its status in turn, so that each request is a legal transition. */
export const changeStatus: Endpoint = {
  service: 'issues',
  requests: async (tessera) => {
    const issues = await createdIssues(tessera);
    return statuses.flatMap((_status, turn) =>
      issues.map(({ id, reporter, status }) =>
        post(reporter, `${id}/status/`, {
          status: statuses[(statuses.indexOf(status) + 1 + turn) % statuses.length],
        }),
      ),
    );
  },
};

// Many, so that a slow change of an issue is complete before the next one is sent.
const changedIssues = 5_000;

interface CreatedIssue {
  id: string;
  reporter: Person;
  status: string;
}

/** The newest issues of the people of the bench. A few were there before, in any status; CLOSED has other transitions. */
async function createdIssues(tessera: Tessera): Promise<CreatedIssue[]> {
  const { rows } = await tessera.stack.sql(
    'issues',
    `SELECT id, reporter_id, status FROM issues WHERE reporter_id = ANY($1) AND status <> 'CLOSED'
      ORDER BY number DESC LIMIT $2`,
    [tessera.people.map(({ id }) => id), changedIssues],
  );
  if (rows.length === 0) throw new Error('the people of the bench have created no issue');
  return rows.map(({ id, reporter_id: reporterId, status }) => {
    const reporter = tessera.people.find((person) => person.id === reporterId);
    if (reporter === undefined) throw new Error('an issue has an unknown reporter');
    return { id, reporter, status };
  });
}

function personAfter({ people }: Tessera, person: Person): Person {
  const next = people[(people.indexOf(person) + 1) % people.length];
  if (next === undefined) throw new Error('there are no people');
  return next;
}

function post({ accessToken }: Person, path: string, body: object): LoadRequest {
  return {
    method: 'POST',
    path: `${issuesPath}${path}`,
    headers: { Authorization: `Bearer ${accessToken}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    expect: { status: path.endsWith('/comments/') ? 201 : 200 },
  };
}
