import type { CreateIssue, UpdateIssue } from '@tessera/contracts';
import type { Answer } from '@tessera/service-kit';
import { readLink } from '../links/link.presenter.ts';
import { etagOf, type IssueDraft, type IssueEdit, type IssueView } from './issue.ts';
import type { IssueAddresses } from './issue-address.ts';

/** The issue, whose wire form the database has written (see `IssueDocument`). */
export function presentIssue(issue: IssueView): Answer & { headers: { ETag: string } } {
  return { status: 200, headers: { ETag: etagOf(issue) }, body: issue.document };
}

export function presentCreatedIssue(issue: IssueView, addresses: IssueAddresses): Answer {
  const headers = { ETag: etagOf(issue), Location: addresses.of(issue.id) };
  return { status: 201, headers, body: issue.document };
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
