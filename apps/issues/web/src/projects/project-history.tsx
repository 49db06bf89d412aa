import { useInfiniteQuery } from '@tanstack/react-query';
import type { ProjectActivity, ProjectRole, ProjectVisibility } from '@tessera/contracts';
import { readPage } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { personName } from '../messages.ts';
import { QueryState } from '../settings/query-state.tsx';
import { RelativeTime } from '../shell/relative-time.tsx';
import { historyKey } from './project-queries.ts';
import { roleNames, visibilityNames } from './visibility.ts';

/** Who changed a project and its members, the newest first. */
export function ProjectHistory({ projectKey }: { projectKey: string }) {
  const history = useInfiniteQuery({
    queryKey: historyKey(projectKey),
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: 50, cursor: pageParam };
      return readPage('listProjectActivity', { params: { key: projectKey }, query, signal });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  // Those who only report issues do not see it.
  if (history.error instanceof HttpError && history.error.status === 403) return null;
  const entries = history.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <section aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      <QueryState query={history} />
      {history.isSuccess && entries.length === 0 && <p>Nothing has changed yet.</p>}
      <ol className="project-history">
        {entries.map((entry) => (
          <li key={entry.id}>
            <bdi>{personName(entry.actor)}</bdi> <bdi>{described(entry)}</bdi>{' '}
            <RelativeTime className="muted" at={entry.at} />
          </li>
        ))}
      </ol>
      {history.hasNextPage && (
        <button type="button" disabled={history.isFetching} onClick={() => void history.fetchNextPage()}>
          Show more
        </button>
      )}
    </section>
  );
}

/** What someone did, after the name. */
function described({ kind, actor, user, field, old, new: now }: ProjectActivity): string {
  const isOwn = user !== null && user.id === actor.id;
  const person = personName(user);
  if (kind === 'created') return 'created the project';
  if (kind === 'member_added')
    return isOwn ? `joined as ${roleText(now)}` : `added ${person} as ${roleText(now)}`;
  if (kind === 'member_changed') return `changed ${person} from ${roleText(old)} to ${roleText(now)}`;
  if (kind === 'member_removed') return isOwn ? 'left the project' : `removed ${person}`;
  if (field === 'is_archived')
    return now === true ? 'archived the project' : 'took the project out of the archive';
  if (field === 'visibility')
    return `changed who reads it from “${visibilityText(old)}” to “${visibilityText(now)}”`;
  if (field === 'mail_text') return `changed what mails contain from ${String(old)} to ${String(now)}`;
  return `changed the ${field} from ${String(old)} to ${String(now)}`;
}

const roleText = (role: unknown) => (roleNames[role as ProjectRole] ?? String(role)).toLowerCase();
const visibilityText = (visibility: unknown) =>
  visibilityNames[visibility as ProjectVisibility] ?? String(visibility);
