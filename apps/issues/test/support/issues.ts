import { type Issue, type IssueStatus, type IssueSummary, issueSchema } from '@tessera/contracts';
import type { Response } from 'supertest';
import type { TestPerson } from './people.ts';

export const issuesPath = '/api/v1/issues/';

export function issuePath(issue: { id: string }, part = ''): string {
  return `${issuesPath}${issue.id}/${part}`;
}

/** Parses the issue in a response with the schema of the contract. */
export function issueIn(response: Response): Issue {
  return issueSchema.parse(response.body);
}

export async function createIssue(person: TestPerson, body: object = {}): Promise<Issue> {
  const created = await person.post(issuesPath, { title: 'Printer does not print', ...body });
  // Unlike supertest's message, it contains the reason.
  if (created.status !== 201) throw new Error(`the issue was not created: ${created.status} ${created.text}`);
  return issueIn(created);
}

export async function getIssue(person: TestPerson, issue: { id: string }): Promise<Issue> {
  return issueIn(await person.get(issuePath(issue)).expect(200));
}

/** Returns the current ETag of an issue. */
export async function etagOf(person: TestPerson, issue: { id: string }): Promise<string> {
  return (await person.get(issuePath(issue)).expect(200)).headers.etag ?? '';
}

const stepsTo: Record<IssueStatus, IssueStatus[]> = {
  OPEN: [],
  IN_PROGRESS: ['IN_PROGRESS'],
  RESOLVED: ['RESOLVED'],
  CLOSED: ['CLOSED'],
  REOPENED: ['CLOSED', 'REOPENED'],
};

/** Creates an issue and moves it to a status through the API. */
export async function createIssueThatIs(person: TestPerson, status: IssueStatus): Promise<Issue> {
  const issue = await createIssue(person);
  for (const step of stepsTo[status])
    await person.post(issuePath(issue, 'status/'), { status: step }).expect(200);
  return getIssue(person, issue);
}

/** Returns the history of an issue without ids and times. */
export async function historyOf(person: TestPerson, issue: { id: string }) {
  const { body } = await person.get(issuePath(issue, 'activity/')).expect(200);
  return body.map(({ kind, field, old, new: value, actor }: Record<string, unknown>) => ({
    kind,
    field,
    old,
    new: value,
    actor,
  }));
}

/** Returns the representation of an issue in a list. */
export function rowOf({
  comments,
  comments_truncated,
  comments_url,
  mentions,
  attachments,
  attachments_count,
  ...issue
}: Issue): IssueSummary {
  const description = [...issue.description].slice(0, 2000).join('');
  const { conflicts, ...sync } = issue.sync;
  return {
    ...issue,
    description,
    description_truncated: description !== issue.description,
    links: issue.links.slice(0, 10).map(({ metadata, ...link }) => link),
    links_count: issue.links.length,
    sync,
  };
}
