import type { operations as Identity, components as IdentityComponents } from './identity/types';
import type { operations as Issues, components as IssuesComponents } from './issues/types';

type Query<Operation extends { parameters: { query?: unknown } }> = NonNullable<
  Operation['parameters']['query']
>;
type Schemas = IssuesComponents['schemas'];
type Json<Response extends { content: { 'application/json': unknown } }> =
  Response['content']['application/json'];

export type AuditQuery = Query<Identity['listAuditEvents']>;
export type IssuesQuery = Query<Issues['listIssues']>;
export type PageQuery = Query<Issues['listIssuePages']>;
export type IssuesResponse = Json<Issues['listIssues']['responses'][200]>;
export type IssuePage = Json<Issues['listIssuePages']['responses'][200]>;
export type Issue = Json<Issues['getIssue']['responses'][200]>;
export type GetIssueNotFound = Json<Issues['getIssue']['responses'][404]>;
export type StatusConflict = Json<Issues['changeIssueStatus']['responses'][409]>;
export type CreateIdentity = IdentityComponents['schemas']['CreateIdentity'];
export type CreateIssue = Schemas['CreateIssue'];
export type ChangeStatus = Schemas['ChangeStatus'];
export type CreateComment = Schemas['CreateComment'];
export type LinkInput = Schemas['LinkInput'];
export type ResolveConflict = Schemas['ResolveConflict'];
