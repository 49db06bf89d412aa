import type { BulkChange, IssueChange, IssueDraft } from '@tessera/client/issues';
import type {
  Activity,
  BulkResult,
  Comment,
  FullUser,
  Issue,
  IssueCounts,
  IssueStatus,
  Label,
  User,
} from '@tessera/contracts';
import { nextCursor, type Reply, type RequestOptions, request, sessionPath } from './http.ts';

export interface Page<Item> {
  items: Item[];
  next: string | undefined;
  /** The number of all items; undefined if the service did not count them. */
  total: number | undefined;
}

export const root = '/app/api/v1';
export const pathOf = (key: string, rest = '') => `${root}/issues/${encodeURIComponent(key)}/${rest}`;

async function bodyOf<Body>(reply: Promise<Reply<Body>>): Promise<Body> {
  return (await reply).body;
}

async function pageOf<Item>(path: string, options: RequestOptions): Promise<Page<Item>> {
  const { body, headers } = await request<Item[]>(path, options);
  const total = headers.get('X-Total-Count');
  return { items: body, next: nextCursor(headers), total: total === null ? undefined : Number(total) };
}

export interface SessionState {
  user: FullUser | null;
  /** A place in the feed of events before all data that are read later; null without a feed. */
  events_cursor: string | null;
}

export const readSession = (signal: AbortSignal) => bodyOf(request<SessionState>(sessionPath, { signal }));

export const startSession = (email: string, password: string) =>
  bodyOf(request<SessionState>(sessionPath, { method: 'POST', body: { email, password } }));

export const endSession = () => request<undefined>(sessionPath, { method: 'DELETE' });

/** The members of an issue that the list shows. */
export const listedFields = [
  'id',
  'key',
  'title',
  'priority',
  'status',
  'assignee',
  'labels',
  'sync',
  'comments_count',
  'updated_at',
  'version',
  'allowed_transitions',
] as const;
export type ListedIssue = Pick<Issue, (typeof listedFields)[number]>;

export const listIssues = (
  query: NonNullable<RequestOptions['query']>,
  cursor: string | undefined,
  signal: AbortSignal,
) =>
  pageOf<ListedIssue>(`${root}/issues/`, {
    query: { ...query, fields: listedFields, limit: 50, cursor },
    signal,
  });

export const readIssue = (key: string, signal: AbortSignal) =>
  bodyOf(request<Issue>(pathOf(key), { signal }));

export const createIssue = (draft: IssueDraft, idempotencyKey: string) =>
  bodyOf(request<Issue>(`${root}/issues/`, { method: 'POST', body: draft, idempotencyKey }));

export const updateIssue = (key: string, change: IssueChange) =>
  bodyOf(request<Issue>(pathOf(key), { method: 'PATCH', body: change }));

export const changeStatus = (key: string, change: { status: IssueStatus; version: number }) =>
  bodyOf(request<Issue>(pathOf(key, 'status/'), { method: 'POST', body: change }));

export const changeIssues = (ids: readonly string[], change: BulkChange) =>
  bodyOf(
    request<{ results: BulkResult[] }>(`${root}/issues/bulk/`, { method: 'POST', body: { ids, ...change } }),
  );

/** Counts the issues that match the filters, by status. */
export const countIssues = (query: NonNullable<RequestOptions['query']>, signal: AbortSignal) =>
  bodyOf(
    request<Extract<IssueCounts, { by: 'status' }>>(`${root}/issues/counts/`, {
      query: { ...query, by: 'status' },
      signal,
    }),
  );

export const addComment = (key: string, body: string, idempotencyKey: string) =>
  bodyOf(request<Comment>(pathOf(key, 'comments/'), { method: 'POST', body: { body }, idempotencyKey }));

export const updateComment = (key: string, id: string, body: string) =>
  bodyOf(request<Comment>(pathOf(key, `comments/${id}/`), { method: 'PATCH', body: { body } }));

export const deleteComment = (key: string, id: string) =>
  request(pathOf(key, `comments/${id}/`), { method: 'DELETE' });

export const listComments = (key: string, cursor: string | undefined, signal: AbortSignal) =>
  pageOf<Comment>(pathOf(key, 'comments/'), { query: { order: 'newest', limit: 50, cursor }, signal });

export const listActivity = (key: string, cursor: string | undefined, signal: AbortSignal) =>
  pageOf<Activity>(pathOf(key, 'activity/'), { query: { order: 'newest', limit: 50, cursor }, signal });

export const findPeople = async (search: string, signal: AbortSignal): Promise<User[]> => {
  const words = search.trim();
  const query = { is_active: true, limit: 20, ...(words !== '' && { search: words }) };
  return (await pageOf<User>(`${root}/users/`, { query, signal })).items;
};

export const listLabels = (signal: AbortSignal) => bodyOf(request<Label[]>(`${root}/labels/`, { signal }));
