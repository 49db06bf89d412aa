import type { IssueField, ListableIssue, User } from '@tessera/contracts';
import type { RequestOf, ResultOf } from '@tessera/contracts/requests';
import { announceSignIn, belongTo } from '../sign-in/session-gate.ts';
import { nextCursor, type OperationId, type Reply, type RequestOptions, request } from './http.ts';
import { withOwnRows } from './own-changes.ts';

/** Calls an operation and returns the body of its response. */
export async function call<Id extends OperationId>(
  id: Id,
  options: RequestOf<Id> & RequestOptions,
): Promise<ResultOf<Id>> {
  return (await request(id, options)).body;
}

export interface Page<Item> {
  items: Item[];
  next: string | undefined;
}

type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

/** Reads a page of a list. */
export async function readPage<Id extends OperationId>(
  id: Id,
  options: RequestOf<Id> & RequestOptions,
): Promise<Page<ItemOf<ResultOf<Id>>> & { headers: Headers }> {
  const { body, headers }: Reply<unknown> = await request(id, options);
  return { items: body as ItemOf<ResultOf<Id>>[], next: nextCursor(headers), headers };
}

export type SessionState = ResultOf<'getSession'>;

/** `newPassword`: replaces a temporary password. */
export async function startSession(
  email: string,
  password: string,
  newPassword?: string,
): Promise<SessionState> {
  const session = await call('startSession', {
    body: { email, password, ...(newPassword !== undefined && { new_password: newPassword }) },
  });
  belongTo(session.user.id);
  announceSignIn(session.user.id);
  return session;
}

export async function readSession(signal: AbortSignal): Promise<SessionState> {
  const session = await call('getSession', { signal });
  if (session.user !== null) belongTo(session.user.id);
  return session;
}

/** The members of an issue that the list shows. */
const listedFields = [
  'id',
  'key',
  'project',
  'title',
  'priority',
  'status',
  'assignee',
  'due_on',
  'is_blocked',
  'labels',
  'sync',
  'comments_count',
  'updated_at',
  'version',
  'allowed_transitions',
] as const satisfies IssueField[];
/** The answer to a change does not say what depends on other issues. */
export type IssueRow = Omit<Pick<ListableIssue, (typeof listedFields)[number]>, 'is_blocked'> &
  Partial<Pick<ListableIssue, 'is_blocked'>>;

export interface RowPage extends Page<IssueRow> {
  /** The number of all issues; undefined if the service did not count them. */
  total: number | undefined;
}

export type IssueQuery = NonNullable<RequestOf<'listIssues'>['query']>;

/** Reads a page of a list, with the changes of this tab that are being saved. */
export async function listIssues(
  filters: IssueQuery,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<RowPage> {
  const startedAt = performance.now();
  const page = await readIssues(filters, cursor, signal);
  return { ...page, items: withOwnRows(cursor === undefined ? filters : {}, page.items, startedAt) };
}

/** Reads a page of a list as the service has it. */
export async function readIssues(
  filters: IssueQuery,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<RowPage> {
  const query = { ...filters, fields: listedFields, limit: 50, cursor };
  const { items, next, headers } = await readPage('listIssues', { query, signal });
  const total = headers.get('X-Total-Count');
  return { items: items as IssueRow[], next, total: total === null ? undefined : Number(total) };
}

/** The query of comments and history, which are read from the newest item. */
export const newestFirst = (cursor: string | undefined) => ({ order: 'newest', limit: 50, cursor });

/** @param readersOf the key of an issue: only people who may read it */
export async function findPeople(
  search: string,
  signal: AbortSignal,
  readersOf?: string | undefined,
): Promise<User[]> {
  const words = search.trim();
  const query = { is_active: true, limit: 20, can_read: readersOf, ...(words !== '' && { search: words }) };
  return (await readPage('listUsers', { query, signal })).items as User[];
}

/** Calls an operation, and returns the ETag that guards a change of its result. */
export async function readTag<Id extends OperationId>(
  id: Id,
  options: RequestOf<Id> & RequestOptions,
): Promise<{ body: ResultOf<Id>; tag: string }> {
  const { body, headers } = await request(id, options);
  return { body, tag: headers.get('ETag') ?? '*' };
}
