// Compiled with each generated client: the command copies the adapter of its generator to `types.ts`. Each line with
// `@ts-expect-error` contains one mistake; the compiler reports a line without a mistake.
import type {
  AuditQuery,
  ChangeStatus,
  CreateComment,
  CreateIdentity,
  CreateIssue,
  GetIssueNotFound,
  Issue,
  IssuePage,
  IssuesQuery,
  IssuesResponse,
  LinkInput,
  PageQuery,
  ResolveConflict,
  StatusConflict,
} from './types';

export const correct: IssuesQuery = { status: ['OPEN'], ordering: ['-priority'], limit: 5, is_open: true };
export const correctPage: PageQuery = { page: 2, page_size: 10, status: ['OPEN'] };
export const correctIssue: CreateIssue = {
  title: 'a',
  priority: 'HIGH',
  links: [{ type: 'invoice', ref: '1' }],
};
export const correctCode = (problem: StatusConflict) => problem.code === 'illegal_transition';
export const correctMember = (problem: StatusConflict) => problem.allowed_transitions?.includes('CLOSED');

// @ts-expect-error an unknown status
export const status: IssuesQuery = { status: ['DONE'] };
// @ts-expect-error an unknown priority
export const priority: IssuesQuery = { priority: ['BLOCKER'] };
// @ts-expect-error a boolean as text
export const flag: IssuesQuery = { is_open: 'true' };
// @ts-expect-error a number as text
export const limit: IssuesQuery = { limit: '5' };
// @ts-expect-error an unknown filter
export const filter: IssuesQuery = { state: 'open' };
// @ts-expect-error a field that lists are not ordered by
export const ordering: IssuesQuery = { ordering: ['assignee'] };
// @ts-expect-error an unknown state of a sync
export const sync: IssuesQuery = { sync: 'broken' };
// @ts-expect-error a page number, which changes the type of the response
export const page: IssuesQuery = { page: 1 };
// @ts-expect-error the object of a page is the response of another operation
export const count = (response: IssuesResponse) => response.count;
// @ts-expect-error a page is an object
export const length = (response: IssuePage) => response.length;
// @ts-expect-error an issue without a title
export const title: CreateIssue = { description: 'a' };
// @ts-expect-error an unknown priority
export const blocker: CreateIssue = { title: 'a', priority: 'BLOCKER' };
// @ts-expect-error a misspelled member
export const misspelled: CreateIssue = { title: 'a', asignee_id: null };
// @ts-expect-error an unknown type of link
export const link: LinkInput = { type: 'ticket', ref: '1' };
// @ts-expect-error a change of status without the status
export const change: ChangeStatus = { comment: 'done' };
// @ts-expect-error an unknown status
export const done: ChangeStatus = { status: 'DONE' };
// @ts-expect-error a comment without its body
export const comment: CreateComment = { text: 'a' };
// @ts-expect-error an issue has a reporter, not an author
export const author = (issue: Issue) => issue.author;
// @ts-expect-error a conflict keeps one side
export const both: ResolveConflict = { keep: 'both' };
// @ts-expect-error an identity without an e-mail address
export const identity: CreateIdentity = { password: 'a' };
// @ts-expect-error an unknown type of event
export const event: AuditQuery = { type: 'login' };
// @ts-expect-error the code of another operation
export const code = (problem: GetIssueNotFound) => problem.code === 'illegal_transition';
