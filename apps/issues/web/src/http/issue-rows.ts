import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { IssueRow, Page } from './api.ts';
import { isRepeated } from './queries.ts';

type Pages = InfiniteData<Page<IssueRow>, unknown>;

/** Returns the loaded rows of a list. */
export function rowsOf(client: QueryClient, queryKey: readonly unknown[]): IssueRow[] {
  return client.getQueryData<Pages>(queryKey)?.pages.flatMap(({ items }) => items) ?? [];
}

/** Replaces rows of a list where they are. */
export function patchRows(
  client: QueryClient,
  queryKey: readonly unknown[],
  patch: (row: IssueRow) => IssueRow,
): void {
  client.setQueryData<Pages>(
    queryKey,
    (data) =>
      data && { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(patch) })) },
  );
}

/** Removes an issue from a list. */
export function removeRows(client: QueryClient, queryKey: readonly unknown[], id: string): void {
  client.setQueryData<Pages>(
    queryKey,
    (data) =>
      data && {
        ...data,
        pages: data.pages.map((page) => ({ ...page, items: page.items.filter((row) => row.id !== id) })),
      },
  );
}

/** Adds rows before the others. */
export function prependRows(client: QueryClient, queryKey: readonly unknown[], rows: IssueRow[]): void {
  client.setQueryData<Pages>(queryKey, (data) => {
    if (data === undefined) return data;
    const [page, ...pages] = data.pages;
    return page === undefined
      ? data
      : { ...data, pages: [{ ...page, items: [...rows, ...page.items] }, ...pages] };
  });
}

/** The keys of the queries of all lists that are on the page or are not read again when they appear. */
export function shownLists(client: QueryClient): readonly (readonly unknown[])[] {
  return client
    .getQueryCache()
    .findAll({ queryKey: ['issues'], predicate: (query) => query.isActive() || !isRepeated(query) })
    .map(({ queryKey }) => queryKey);
}

/** Returns an issue as a list has shown it. */
export function knownRow(client: QueryClient, key: string): IssueRow | undefined {
  for (const { queryKey } of client.getQueryCache().findAll({ queryKey: ['issues'] })) {
    const row = rowsOf(client, queryKey).find((one) => one.key === key);
    if (row !== undefined) return row;
  }
  return undefined;
}
