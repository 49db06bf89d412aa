interface QueryStateProps {
  query: { isPending: boolean; error: Error | null; refetch: () => Promise<unknown> };
}

/** Says that data is being loaded, or why it was not. */
export function QueryState({ query }: QueryStateProps) {
  if (query.isPending)
    return (
      <p className="muted" role="status">
        Loading…
      </p>
    );
  if (query.error === null) return null;
  return (
    <div role="alert">
      <p>{query.error.message}</p>
      <button type="button" onClick={() => void query.refetch()}>
        Try again
      </button>
    </div>
  );
}
