import type { CreateIdentity, ListAuditEventsData } from './identity/types.gen';
import type {
  AddCommentData,
  ChangeIssueStatusData,
  ChangeIssueStatusErrors,
  CreateIssueData,
  GetIssueErrors,
  GetIssueResponses,
  ListIssuePagesData,
  ListIssuePagesResponses,
  ListIssuesData,
  ListIssuesResponses,
  PutLinkData,
  ResolveSyncConflictData,
} from './issues/types.gen';

export type { CreateIdentity };
export type AuditQuery = NonNullable<ListAuditEventsData['query']>;
export type IssuesQuery = NonNullable<ListIssuesData['query']>;
export type PageQuery = NonNullable<ListIssuePagesData['query']>;
export type IssuesResponse = ListIssuesResponses[200];
export type IssuePage = ListIssuePagesResponses[200];
export type Issue = GetIssueResponses[200];
export type GetIssueNotFound = GetIssueErrors[404];
export type StatusConflict = ChangeIssueStatusErrors[409];
export type CreateIssue = CreateIssueData['body'];
export type ChangeStatus = ChangeIssueStatusData['body'];
export type CreateComment = AddCommentData['body'];
export type LinkInput = PutLinkData['body'];
export type ResolveConflict = ResolveSyncConflictData['body'];
