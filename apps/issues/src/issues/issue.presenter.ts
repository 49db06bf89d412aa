import type { CreateIssue, createIssue, Issue, UpdateIssue, updateIssue } from '@tessera/contracts';
import type { JsonText, ResponseOf } from '@tessera/service-kit';
import { readLink } from '../links/link.presenter.ts';
import { etagOf, type IssueDraft, type IssueEdit, type IssueView } from './issue.ts';
import type { IssueUrls } from './issue-urls.ts';

/** The issue, whose wire form the database has written (see `IssueDocument`). */
export function presentIssue(
  issue: IssueView,
): ResponseOf<typeof updateIssue> & { headers: { ETag: string } } {
  return { status: 200, headers: { ETag: etagOf(issue) }, body: issue.document as JsonText<Issue> };
}

export function presentCreatedIssue(issue: IssueView, urls: IssueUrls): ResponseOf<typeof createIssue> {
  const headers = { ETag: etagOf(issue), Location: urls.of(issue.id) };
  return { status: 201, headers, body: issue.document as JsonText<Issue> };
}

export function readNewIssue(body: CreateIssue): IssueDraft {
  return {
    title: body.title,
    description: body.description,
    priority: body.priority,
    status: body.status,
    assignee: readAssignee(body) ?? null,
    links: body.links.map(readLink),
  };
}

export function readIssueEdit(body: UpdateIssue): IssueEdit {
  return {
    title: body.title,
    description: body.description,
    priority: body.priority,
    status: body.status,
    assignee: readAssignee(body),
    links: body.links?.map(readLink),
  };
}

function readAssignee(body: Pick<UpdateIssue, 'assignee_id' | 'assignee_email'>): IssueEdit['assignee'] {
  const { assignee_id: id, assignee_email: email } = body;
  if (email !== undefined) return { person: { email }, field: 'assignee_email' };
  if (id === null || id === undefined) return id;
  return { person: { id }, field: 'assignee_id' };
}
