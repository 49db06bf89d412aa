import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Issue, Watching } from '@tessera/contracts';
import { call } from '../http/api.ts';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { notify, notifyDone, takeBack } from '../shell/toasts.tsx';

/** Whether the user is notified of changes: shown at once, undone if the service refuses. */
export function WatchButton({ issue }: { issue: Issue }) {
  const client = useQueryClient();
  const queryKey = ['watching', issue.key];
  const params = { id: issue.key };
  const { data } = useQuery({ queryKey, queryFn: ({ signal }) => call('getWatching', { params, signal }) });
  const name = data?.is_watching === true ? 'Stop watching' : 'Watch the issue';
  useCommands(data === undefined ? [] : ofIssue([{ name, run: () => void toggle(data) }]));
  const toggle = async (data: Watching) => {
    const isWatching = !data.is_watching;
    client.setQueryData(queryKey, { ...data, is_watching: isWatching });
    try {
      await call(isWatching ? 'startWatching' : 'stopWatching', { params });
      notifyDone(isWatching ? `Watching ${issue.key}` : `No longer watching ${issue.key}`, () =>
        takeBack(
          () => call(isWatching ? 'stopWatching' : 'startWatching', { params }),
          () => client.invalidateQueries({ queryKey }),
        ),
      );
    } catch (error) {
      client.setQueryData(queryKey, data);
      notify(`Not saved: ${error instanceof Error ? error.message : ''}`);
    }
  };
  if (data === undefined) return null;
  return (
    <button type="button" className="watch" onClick={() => void toggle(data)}>
      {data.is_watching ? 'Stop watching' : 'Watch'}
    </button>
  );
}
