// Checked by the compiler only. Each line contains one mistake; `tsc` reports a line without a mistake.
import { issuesPaths } from '@tessera/contracts/requests';
import { IdentityClient } from '../src/identity.ts';
import { IssuesClient, isProblem, ProblemError } from '../src/issues.ts';
import { Transport } from '../src/transport.ts';

export async function mistakes(issues: IssuesClient, identity: IdentityClient): Promise<void> {
  // @ts-expect-error an unknown status
  issues.list({ status: ['DONE'] });
  // @ts-expect-error a status that is not in a list
  issues.list({ status: 'OPEN' });
  // @ts-expect-error a boolean as text
  issues.list({ is_open: 'true' });
  // @ts-expect-error a number as text
  issues.list({ limit: '5' });
  // @ts-expect-error an unknown filter
  issues.list({ state: 'open' });
  // @ts-expect-error a field that lists are not ordered by
  issues.list({ ordering: ['assignee'] });
  // @ts-expect-error a member that issues in a list do not have
  issues.list({ fields: ['comments'] });
  // @ts-expect-error a member that issues are not counted by
  await issues.counts('label');
  // @ts-expect-error a count of another member
  (await issues.counts('status')).counts[0]?.value === 'HIGH';
  // @ts-expect-error a member that was not requested
  for await (const { title } of issues.list({ fields: ['key'] })) title.trim();
  // @ts-expect-error a link without its type
  issues.list({ link: '2024-17' });
  // @ts-expect-error a creation without a title
  await issues.create({ description: 'a' });
  // @ts-expect-error an unknown priority
  await issues.create({ title: 'a', priority: 'BLOCKER' });
  // @ts-expect-error a misspelled member
  await issues.create({ title: 'a', asignee_id: null });
  // @ts-expect-error an unknown type of link
  await issues.putLink('ISS-1', { type: 'ticket', ref: '1' });
  // @ts-expect-error a status is not changed by an update
  await issues.update('ISS-1', { status: 'CLOSED' });
  // @ts-expect-error a change of status without the status
  await issues.changeStatus('ISS-1', { comment: 'done' });
  // @ts-expect-error two changes at once
  await issues.changeAll(['ISS-1'], { status: 'CLOSED', priority: 'LOW' });
  // @ts-expect-error a bulk change sets no title
  await issues.changeAll(['ISS-1'], { title: 'a' });
  // @ts-expect-error an own comment is changed by its text alone
  await issues.updateComment('ISS-1', 'id', { body: 'a' });
  // @ts-expect-error a comment is text
  await issues.addComment('ISS-1', { body: 'a' });
  // @ts-expect-error an issue has a reporter, not an author
  (await issues.get('ISS-1')).author;
  // @ts-expect-error a list is read page by page
  (await issues.list()).length;
  // @ts-expect-error a conflict keeps one side
  await issues.resolveConflict('ISS-1', 'id', 'both');
  // @ts-expect-error an identity needs an e-mail address
  await identity.create({ password: 'a' });
  // @ts-expect-error an unknown type of event
  identity.auditEvents({ type: 'login' });
  // @ts-expect-error a client of identity needs the service token
  new IdentityClient({ baseUrl: 'https://identity.example' });
  // @ts-expect-error a client of issues needs a token
  new IssuesClient({ baseUrl: 'https://issues.example' });
  // @ts-expect-error the status of an error is a number
  new ProblemError({}).status === '404';
  // @ts-expect-error a misspelled code
  new ProblemError({}).code === 'version_conflit';
  const error: unknown = new ProblemError({});
  // @ts-expect-error a code of another operation
  if (isProblem<'getIssue'>(error)) error.code === 'illegal_transition';
  // @ts-expect-error an unknown operation
  isProblem<'getIssues'>(error);
  if (isProblem<'changeIssueStatus'>(error)) error.code === 'illegal_transition';
}

export async function mistakesInCalls(): Promise<void> {
  const api = new Transport(issuesPaths, { baseUrl: 'https://issues.example' });
  // @ts-expect-error an unknown operation
  await api.call('readIssue', { params: { id: 1 } });
  // @ts-expect-error an operation of another service
  await api.call('getIdentity', { params: { id: 1 } });
  // @ts-expect-error a missing parameter of the path
  await api.call('getComment', { params: { id: 1 } });
  // @ts-expect-error a misspelled parameter of the path
  await api.call('getIssue', { params: { issue: 1 } });
  // @ts-expect-error an unknown parameter of the query
  await api.call('listComments', { params: { id: 1 }, query: { sort: 'newest' } });
  // @ts-expect-error a missing parameter of the query
  await api.call('countIssues', { query: {} });
  // @ts-expect-error a missing body
  await api.call('createIssue', {});
  // @ts-expect-error a body of an operation without one
  await api.call('testWebhook', { params: { id: 1 }, body: {} });
  // @ts-expect-error an idempotency key of an operation without one
  await api.once('patchIssue', { params: { id: 1 }, body: { title: 'a' } });
}
