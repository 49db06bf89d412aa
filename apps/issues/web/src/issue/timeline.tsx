import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query';
import type { Activity, Comment, Issue } from '@tessera/contracts';
import { useState } from 'react';
import { newestFirst, type Page, readPage } from '../http/api.ts';
import { personName, trackerName } from '../messages.ts';
import { RelativeTime } from '../shell/relative-time.tsx';
import { describeActivity } from './activity-text.ts';
import { CommentItem } from './comment-item.tsx';
import { TextDiff } from './text-diff.tsx';

type Item = { at: string } & ({ comment: Comment } | { activity: Activity });

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
        {items.map((item) =>
          'comment' in item ? (
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

function ActivityItem({ activity }: { activity: Activity }) {
  const { text, before, after } = describeActivity(activity);
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="entry">
      <span className="entry-dot" aria-hidden="true" />
      <div>
        <strong dir="auto">
          {activity.actor === null ? trackerName(activity.origin) : personName(activity.actor)}
        </strong>{' '}
        {text} <RelativeTime className="muted" at={activity.at} />
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
