import type { CreateIdentity, ListAuditEventsParams } from './identity/client';
import type {
  addComment,
  ChangeIssueStatus409One,
  changeIssueStatus,
  createIssue,
  getIssueResponse200,
  getIssueResponse404,
  ListIssuePagesParams,
  ListIssuesParams,
  listIssuePagesResponse200,
  listIssuesResponse200,
  putLink,
  resolveSyncConflict,
} from './issues/client';

export type { CreateIdentity };
export type AuditQuery = ListAuditEventsParams;
export type IssuesQuery = ListIssuesParams;
export type PageQuery = ListIssuePagesParams;
export type IssuesResponse = listIssuesResponse200['data'];
export type IssuePage = listIssuePagesResponse200['data'];
export type Issue = getIssueResponse200['data'];
export type GetIssueNotFound = getIssueResponse404['data'];
export type StatusConflict = ChangeIssueStatus409One;
export type CreateIssue = Parameters<typeof createIssue>[0];
export type ChangeStatus = Parameters<typeof changeIssueStatus>[1];
export type CreateComment = Parameters<typeof addComment>[1];
export type LinkInput = Parameters<typeof putLink>[1];
export type ResolveConflict = Parameters<typeof resolveSyncConflict>[2];
