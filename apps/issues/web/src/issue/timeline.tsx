import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query';
import type { Activity, Comment, Issue } from '@tessera/contracts';
import { useState } from 'react';
import { newestFirst, type Page, readPage } from '../http/api.ts';
import { personName, trackerName } from '../messages.ts';
import { RelativeTime } from '../shell/relative-time.tsx';
import { changedNames, describeActivity } from './activity-text.ts';
import { CommentItem } from './comment-item.tsx';
import { TextDiff } from './text-diff.tsx';

type Item = { at: string } & ({ comment: Comment } | { activity: Activity });
/** An item, or several changes of one person in a row that are shown as one. */
type Line = Item | { run: readonly Activity[] };

/** The comments and the history of an issue in one list, oldest first. Starts with the newest items. */
export function Timeline({ issue }: { issue: Issue }) {
  const params = { id: issue.key };
  const comments = useInfiniteQuery({
    queryKey: ['comments', issue.key],
    queryFn: ({ pageParam, signal }) =>
      readPage('listComments', { params, query: newestFirst(pageParam), signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const activity = useInfiniteQuery({
    queryKey: ['activity', issue.key],
    queryFn: ({ pageParam, signal }) =>
      readPage('listActivity', { params, query: newestFirst(pageParam), signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const commentItems = itemsOf(comments.data).map((comment): Item => ({ at: comment.created_at, comment }));
  // An editor stays, with its text, when another person deletes the comment.
  const [edited, setEdited] = useState<readonly Comment[]>([]);
  const deleted = comments.isSuccess
    ? edited.filter(({ id }) => !itemsOf(comments.data).some((comment) => comment.id === id))
    : [];
  const activityItems = itemsOf(activity.data).map((entry): Item => ({ at: entry.at, activity: entry }));
  // Earlier items of a list that has more pages are unknown, so none of the other list are shown before its oldest.
  const starts = [
    comments.hasNextPage ? commentItems.at(-1)?.at : undefined,
    activity.hasNextPage ? activityItems.at(-1)?.at : undefined,
  ].filter((at) => at !== undefined);
  const start = starts.sort().at(-1) ?? '';
  const items = [...commentItems, ...activityItems]
    .filter((item) => item.at >= start && isShown(item))
    .concat(deleted.map((comment) => ({ at: comment.created_at, comment })))
    .sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  const [isLoadingEarlier, setLoadingEarlier] = useState(false);
  const loadEarlier = () => {
    setLoadingEarlier(true);
    for (const list of [comments, activity]) if (list.hasNextPage) void list.fetchNextPage();
  };

  return (
    <section className={isLoadingEarlier ? 'timeline earlier' : 'timeline'} aria-labelledby="timeline-title">
      <h2 id="timeline-title">Activity</h2>
      {starts.length > 0 && (
        <button type="button" onClick={loadEarlier} disabled={comments.isFetching || activity.isFetching}>
          Show earlier
        </button>
      )}
      {(comments.isError || activity.isError) && (
        <p role="alert">The activity could not be loaded. {(comments.error ?? activity.error)?.message}</p>
      )}
      <ol>
        {linesOf(items).map((item) =>
          'run' in item ? (
            <ActivityRun key={item.run[0]?.id} run={item.run} />
          ) : 'comment' in item ? (
            <CommentItem
              key={item.comment.id}
              issue={issue}
              comment={item.comment}
              isDeleted={deleted.includes(item.comment)}
              onEdit={(isOpen) =>
                setEdited((now) => [
                  ...now.filter(({ id }) => id !== item.comment.id),
                  ...(isOpen ? [item.comment] : []),
                ])
              }
            />
          ) : (
            <ActivityItem key={item.activity.id} activity={item.activity} />
          ),
        )}
      </ol>
    </section>
  );
}

function itemsOf<Item>(data: InfiniteData<Page<Item>, unknown> | undefined): Item[] {
  return data?.pages.flatMap(({ items }) => items) ?? [];
}

// A comment shows itself.
function isShown(item: Item): boolean {
  return 'comment' in item || item.activity.kind !== 'comment_added';
}

/** Fewer changes in a row are shown one by one. */
const runMin = 3;

function linesOf(items: readonly Item[]): Line[] {
  const lines: Line[] = [];
  let run: (Item & { activity: Activity })[] = [];
  const endRun = () => {
    lines.push(...(run.length < runMin ? run : [{ run: run.map(({ activity }) => activity) }]));
    run = [];
  };
  for (const item of items) {
    // The newest item stays as it is: a person looks there for what has just changed.
    const isChange = 'activity' in item && item !== items.at(-1) && changedNames([item.activity]) !== '';
    const change = isChange ? item : undefined;
    const { actor, origin } = run[0]?.activity ?? {};
    if (change?.activity.actor?.id !== actor?.id || change?.activity.origin !== origin) endRun();
    if (change === undefined) lines.push(item);
    else run.push(change);
  }
  endRun();
  return lines;
}

function ActivityRun({ run }: { run: readonly Activity[] }) {
  const [isOpen, setOpen] = useState(false);
  const last = run.at(-1);
  if (last === undefined) return null;
  return (
    <li className="entry">
      <span aria-hidden="true" />
      <details className="run" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <strong dir="auto">{actorName(last)}</strong> changed the {changedNames(run)}{' '}
          <RelativeTime className="muted" at={last.at} />
        </summary>
        {isOpen && (
          <ol>
            {run.map((activity) => (
              <ActivityItem key={activity.id} activity={activity} />
            ))}
          </ol>
        )}
      </details>
    </li>
  );
}

const actorName = ({ actor, origin }: Activity) => (actor === null ? trackerName(origin) : personName(actor));

function ActivityItem({ activity }: { activity: Activity }) {
  const { text, before, after } = describeActivity(activity);
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="entry">
      <span className="entry-dot" aria-hidden="true" />
      <div>
        <strong dir="auto">{actorName(activity)}</strong> {text}{' '}
        <RelativeTime className="muted" at={activity.at} />
        {(before !== undefined || after !== undefined) && (
          <details className="texts" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
            <summary>Show the texts</summary>
            {isOpen && <TextDiff before={before ?? ''} after={after ?? ''} />}
          </details>
        )}
      </div>
    </li>
  );
}
