import '../styles/issue.css';
import '../styles/issue-side.css';
import '../styles/issue-texts.css';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Issue } from '@tessera/contracts';
import { lazy, Suspense, useEffect, useState } from 'react';
import { followCard } from '../board/card-focus.ts';
import { call, type IssueRow, readPage } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { knownRow } from '../http/issue-rows.ts';
import { isRepeated, issueQuery } from '../http/queries.ts';
import { setUnread, unreadKey } from '../http/unread.ts';
import { places, useWayBack } from '../issue-list/came-from.ts';
import { personName } from '../messages.ts';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { focusPage } from '../shell/focus.ts';
import { LabelMark, LockMark, PriorityMark, StatusMark } from '../shell/icons.tsx';
import { RelativeTime } from '../shell/relative-time.tsx';
import { notify, notifyDone } from '../shell/toasts.tsx';
import { useTitle } from '../shell/use-title.ts';
import { CommentForm, commentFieldId } from './comment-form.tsx';
import { ConflictPanel } from './conflict-panel.tsx';
import { EditableDescription } from './editable-description.tsx';
import { EditableTitle } from './editable-title.tsx';
import { IssueProperties } from './issue-properties.tsx';
import { Timeline } from './timeline.tsx';
import { useIssueChanges } from './use-issue-changes.ts';
import { textFieldId } from './use-text-edit.ts';

const IssueExtras = lazy(async () => ({ default: (await import('./issue-extras.tsx')).IssueExtras }));

export function IssuePage() {
  const { key } = useParams({ from: '/app/issues/$key' });
  const { data: issue, error, refetch } = useQuery(issueQuery(key));
  const client = useQueryClient();
  const known = issue === undefined ? knownRow(client, key) : undefined;
  const title = issue?.title ?? known?.title;
  useTitle(title === undefined ? key : `${key} ${title}`);
  const navigate = useNavigate();
  // Events name an issue by its present key.
  useEffect(() => {
    if (issue === undefined || issue.key === key) return;
    client.setQueryData(issueQuery(issue.key).queryKey, issue);
    void navigate({ to: '/issues/$key', params: { key: issue.key }, replace: true });
  }, [client, issue, key, navigate]);
  if (issue !== undefined) return <IssueView key={issue.id} issue={issue} />;
  const isMissing = error instanceof HttpError && [404, 422].includes(error.status);
  return (
    <main id="content" className="page">
      <nav className="crumbs" aria-label="Path">
        <WayBack />
      </nav>
      <h1 className={known === undefined ? undefined : 'visually-hidden'}>
        {isMissing ? `There is no issue ${key}` : key}
      </h1>
      {error === null && known !== undefined && <KnownRow row={known} />}
      {error === null && (
        <p className="muted" role="status">
          {known === undefined ? 'Loading…' : 'Loading the texts…'}
        </p>
      )}
      {error !== null && !isMissing && (
        <div role="alert">
          <p>The issue could not be loaded. {error.message}</p>
          <button type="button" className="primary" onClick={() => void refetch()}>
            Try again
          </button>
        </div>
      )}
    </main>
  );
}

/** What a list has shown, until the issue is read. */
function KnownRow({ row: { key, title, status, priority, assignee, labels } }: { row: IssueRow }) {
  return (
    <>
      {/* Its heading comes with the page, whose keys act from then on. */}
      <p className="known-title">
        <bdi>{title}</bdi> <span className="issue-key">{key}</span>
      </p>
      <p className="known">
        <StatusMark status={status} />
        <PriorityMark priority={priority} hasText />
        <span dir="auto">{assignee === null ? 'No one' : personName(assignee)}</span>
        {labels.map(({ id, name, color }) => (
          <LabelMark key={id} name={name} color={color} />
        ))}
      </p>
    </>
  );
}

function WayBack() {
  const { to, search, name } = useWayBack();
  return (
    <Link to={to} search={search}>
      {name}
    </Link>
  );
}

/** Opening an issue reads its notifications, from the inbox or from anywhere else. */
async function readNotifications(client: QueryClient, issue: string): Promise<void> {
  if (client.getQueryData(unreadKey) === 0) return;
  const query = { issue, unread: true, limit: 100 };
  const ids = (await readPage('listNotifications', { query })).items.map(({ id }) => id);
  if (ids.length === 0) return;
  setUnread(client, (await call('markNotificationsRead', { body: { ids } })).unread_count);
  await client.invalidateQueries({ queryKey: ['notifications'], predicate: isRepeated });
}

const noList = 'No list was open before this issue, so there is no next one.';
const ends = {
  1: 'This is the last issue that the list has loaded.',
  [-1]: 'This is the first issue of the list.',
};

function IssueView({ issue }: { issue: Issue }) {
  const { conflict, dismissConflict, showMine, latest, save } = useIssueChanges(issue);
  // A conflict of one field leaves the draft of the other.
  const [discarded, setDiscarded] = useState({ title: 0, description: 0 });
  const discard = (field: string) =>
    setDiscarded((now) => ({
      title: now.title + Number(field === 'title'),
      description: now.description + Number(field === 'description'),
    }));
  const click = (label: string) => () =>
    document.querySelector<HTMLElement>(`[aria-label="${label}"]`)?.click();
  const navigate = useNavigate();
  const { to, search } = useWayBack();
  const go = (by: 1 | -1) => () => {
    const { order = [], list, note } = places;
    const index = order.indexOf(issue.key);
    const key = index < 0 ? undefined : order[index + by];
    if (key === undefined) return notifyDone(index < 0 ? noList : ends[by]);
    // The way back leads to its row.
    if (list !== undefined) places.list = { ...list, key, index: index + by };
    if (note !== undefined) places.note = { ...note, at: key };
    followCard(key);
    void navigate({ to: '/issues/$key', params: { key } });
  };
  useCommands([
    ...ofIssue([
      { key: 'm', name: 'Write a comment', run: () => document.getElementById(commentFieldId)?.focus() },
      { key: 'e', name: 'Edit the description', run: click('Edit description') },
      { name: 'Edit the title', run: click('Edit title') },
      {
        name: 'Copy the link',
        run: () => {
          void navigator.clipboard.writeText(location.href).then(
            () => notifyDone(`The link to ${issue.key} is copied`),
            () => notify('The browser does not let this page copy'),
          );
        },
      },
    ]),
    { key: 'J', name: 'Next issue of the list', run: go(1) },
    { key: 'K', name: 'Previous issue of the list', run: go(-1) },
    { key: 'Escape', name: 'Back to the list', run: () => void navigate({ to, search }) },
  ]);
  const text = conflict?.field === 'title' || conflict?.field === 'description' ? conflict.field : undefined;
  const edit = (field: 'title' | 'description') => {
    dismissConflict();
    document.getElementById(textFieldId(field))?.focus();
  };
  const client = useQueryClient();
  useEffect(() => {
    // What could not be marked stays unread.
    readNotifications(client, issue.id).catch(() => undefined);
  }, [client, issue.id]);
  // This element replaces the one that was shown while the issue was read.
  useEffect(focusPage, []);
  return (
    <main id="content" className="page issue">
      <div className="issue-main">
        <nav className="crumbs" aria-label="Path">
          <WayBack />
          <span aria-hidden="true">/</span>
          <span>
            {issue.key}
            <LockMark visibility={issue.project.visibility} />
          </span>
        </nav>
        {conflict !== undefined && (
          <ConflictPanel
            key={`${conflict.field} ${conflict.current.version}`}
            conflict={conflict}
            onKeepMine={() => void conflict.retry()}
            onTakeTheirs={() => {
              dismissConflict();
              discard(conflict.field);
            }}
            onEdit={text && (() => edit(text))}
          />
        )}
        <EditableTitle issue={issue} save={save} onType={showMine} discarded={discarded.title} />
        <p className="byline muted">
          <span>
            <bdi>{personName(issue.reporter)}</bdi> created this <RelativeTime at={issue.created_at} />
          </span>
        </p>
        <EditableDescription issue={issue} save={save} onType={showMine} discarded={discarded.description} />
      </div>
      <div className="issue-side">
        <IssueProperties issue={issue} latest={latest} save={save} />
        <Suspense>
          <IssueExtras issue={issue} />
        </Suspense>
      </div>
      <div className="issue-talk">
        <Timeline issue={issue} />
        <CommentForm issue={issue} />
      </div>
    </main>
  );
}
