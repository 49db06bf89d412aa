import type { UseQueryResult } from '@tanstack/react-query';

/** Says that data is being loaded, or why it was not. */
export function QueryState({ query }: { query: UseQueryResult<unknown> }) {
  if (query.isPending)
    return (
      <p className="muted" role="status">
        Loading…
      </p>
    );
  if (!query.isError) return null;
  return (
    <div role="alert">
      <p>{query.error.message}</p>
      <button type="button" onClick={() => void query.refetch()}>
        Try again
      </button>
    </div>
  );
}
