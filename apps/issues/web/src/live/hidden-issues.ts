import type { QueryClient } from '@tanstack/react-query';
import type { Issue } from '@tessera/contracts';
import { forgetDraftsOf, forgetHiddenDrafts } from '../drafts/hidden-drafts.ts';
import { HttpError } from '../http/http.ts';
import { removeRows } from '../http/issue-rows.ts';
import { projectsQuery, sessionQuery } from '../http/queries.ts';
import { unreadKey } from '../http/unread.ts';

/** What the pages keep of an issue, by its key. */
const parts = ['comments', 'activity', 'watching', 'relations', 'files', 'sync'];
/** Searches and counts have parts of issues, too. */
const findings = ['palette', 'found', 'notifications', 'noted', 'counts', 'view-count'];

/** Reads everything that is shown again. */
export const readAll = (client: QueryClient): Promise<void> =>
  client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });

/** The person sees other projects than before: keeps nothing of what they may no longer see. */
export async function forgetHidden(client: QueryClient): Promise<void> {
  // What no page shows is read again when it is shown. The number of unread notifications is shown, although the stream says it and
  // not a query.
  client.removeQueries({
    type: 'inactive',
    predicate: ({ queryKey: [name] }) => name !== sessionQuery.queryKey[0] && name !== unreadKey[0],
  });
  await Promise.all([readAll(client), forgetHiddenDrafts()]);
}

/** The stream was away, and does not tell what the person no longer sees since. */
export async function lookAtAccess(client: QueryClient): Promise<void> {
  const before = client.getQueryData(projectsQuery.queryKey);
  void client.invalidateQueries({ queryKey: ['issue'] });
  if (before === undefined) return;
  // Equal data stays the same object.
  const now = await client.fetchQuery({ ...projectsQuery, staleTime: 0 });
  if (now !== before) await forgetHidden(client);
}

/**
 * Forgets an issue whose page is told that there is no such issue: its data, its rows and its drafts. The page then says so.
 * @returns a function that ends it
 */
export function forgetMissing(client: QueryClient): () => void {
  return client.getQueryCache().subscribe(({ type, query: { queryKey, state } }) => {
    const { data, error } = state;
    if (type !== 'updated' || queryKey[0] !== 'issue' || data === undefined) return;
    if (error instanceof HttpError && error.status === 404) forgetIssue(client, data as Issue, error);
  });
}

function forgetIssue(client: QueryClient, { id }: Issue, error: HttpError): void {
  const cache = client.getQueryCache();
  // Also under its former keys.
  for (const query of cache.findAll({ queryKey: ['issue'] })) {
    if ((query.state.data as Issue | undefined)?.id !== id) continue;
    for (const name of parts) client.removeQueries({ queryKey: [name, query.queryKey[1]] });
    if (query.isActive())
      query.setState({ ...query.state, data: undefined, dataUpdatedAt: 0, error, status: 'error' });
    else cache.remove(query);
  }
  for (const { queryKey } of cache.findAll({ queryKey: ['issues'] })) removeRows(client, queryKey, id);
  for (const name of findings) {
    client.removeQueries({ queryKey: [name], type: 'inactive' });
    void client.invalidateQueries({ queryKey: [name] });
  }
  // A browser without a store has no drafts.
  forgetDraftsOf([id]).catch(() => undefined);
}
