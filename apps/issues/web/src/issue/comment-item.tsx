import { useQueryClient } from '@tanstack/react-query';
import type { Comment, Issue } from '@tessera/contracts';
import { useRef, useState } from 'react';
import { draftNote, useDraft } from '../drafts/use-draft.ts';
import { useFilesFirst } from '../files/use-files-first.ts';
import { call, readTag } from '../http/api.ts';
import { refreshIssue } from '../http/queries.ts';
import { MarkdownEditor } from '../markdown/markdown-editor.tsx';
import { MarkdownView } from '../markdown/markdown-view.tsx';
import { withToggledTask } from '../markdown/task-boxes.ts';
import { personName, trackerName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { Confirm } from '../shell/confirm.tsx';
import { focusIfLost } from '../shell/focus.ts';
import { RelativeTime } from '../shell/relative-time.tsx';
import { notify, notifyDone, takeBack } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { readersOf, useMayDelete } from './access.ts';
import { referencesOf } from './references-of.ts';

interface CommentProps {
  issue: Issue;
  comment: Comment;
  /** Another person has deleted it while it was edited. */
  isDeleted?: boolean;
}

interface CommentItemProps extends CommentProps {
  onEdit: (isOpen: boolean) => void;
}

/** A comment. Its author edits it; the author and staff delete it. */
export function CommentItem({ issue, comment, isDeleted = false, onEdit }: CommentItemProps) {
  const user = useUser();
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  const { author, external, created_at, updated_at, origin } = comment;
  const name = author === null ? (external?.author ?? 'Unknown') : personName(author);
  const time = external?.created_at ?? created_at;
  const mayDelete = useMayDelete(issue);
  const isOwn = author?.id === user.id && origin === 'local';
  const refresh = () => refreshIssue(client, issue.key);
  const toggle = async (line: number) => {
    const params = { id: issue.key, comment_id: comment.id };
    const before = comment.body;
    try {
      const { tag } = await readTag('updateComment', {
        params,
        body: { body: withToggledTask(before, line) },
      });
      // Only as it was saved: it may have been edited since.
      notifyDone('Comment changed', () =>
        takeBack(() => call('updateComment', { params, body: { body: before }, ifMatch: tag }), refresh),
      );
    } catch (error) {
      notify(`Not saved: ${error instanceof Error ? error.message : ''}`);
    }
    await refresh();
  };
  const open = () => {
    setOpen(true);
    onEdit(true);
  };
  return (
    <li className="comment">
      <header>
        {author !== null && <Avatar person={author} />}
        <strong dir="auto">{name}</strong>
        <RelativeTime className="muted" at={time} />
        {origin !== 'local' && <span className="muted">in {trackerName(origin)}</span>}
        {updated_at !== created_at && <span className="muted">edited</span>}
        <span className="comment-actions">
          {isOwn && !isOpen && (
            <button type="button" ref={editButton} aria-label={`Edit the entry of ${name}`} onClick={open}>
              Edit
            </button>
          )}
          {(isOwn || mayDelete) && !isDeleted && (
            <Confirm
              name="Delete"
              label={`Delete the entry of ${name}`}
              title="Delete the comment?"
              text="The history keeps its text."
              action={async () => {
                await call('deleteComment', { params: { id: issue.key, comment_id: comment.id } });
                await refresh();
                notifyDone('Comment deleted');
              }}
            />
          )}
        </span>
      </header>
      {isOpen ? (
        <CommentEditor
          issue={issue}
          comment={comment}
          onSaved={refresh}
          isDeleted={isDeleted}
          onReopen={open}
          onClose={() => {
            setOpen(false);
            onEdit(false);
            focusIfLost(() => editButton.current);
          }}
        />
      ) : (
        <MarkdownView
          text={comment.body}
          references={referencesOf(issue, comment.mentions)}
          files={comment.attachments}
          onToggle={isOwn ? (line) => void toggle(line) : undefined}
        />
      )}
    </li>
  );
}

interface EditorProps extends CommentProps {
  onSaved: () => Promise<unknown>;
  onClose: () => void;
  onReopen: () => void;
}

function CommentEditor({ issue, comment, isDeleted = false, onSaved, onClose, onReopen }: EditorProps) {
  const draft = `${issue.id}/comment/${comment.id}`;
  const handle = useDraft(draft, comment.body, 0);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const { text } = handle.draft;
  const filesFirst = useFilesFirst(text);
  const submit = async () => {
    if (isBusy || text.trim() === '') return;
    setBusy(true);
    setProblem('');
    try {
      const text = await filesFirst.complete(handle.latest());
      if (text === undefined) return setBusy(false);
      if (text !== handle.latest()) handle.setText(text);
      const id = issue.key;
      const body = { body: text };
      if (isDeleted)
        await call('addComment', { params: { id }, body, idempotencyKey: await handle.sendingKey() });
      else {
        const params = { id, comment_id: comment.id };
        const { tag } = await readTag('updateComment', { params, body });
        const before = { body: comment.body };
        notifyDone('Comment changed', () =>
          takeBack(() => call('updateComment', { params, body: before, ifMatch: tag }), onSaved),
        );
      }
      const isSent = handle.sent(text);
      await onSaved();
      if (isSent) onClose();
      else setBusy(false);
    } catch (error) {
      setProblem(`The comment was not saved. ${error instanceof Error ? error.message : ''}`);
      setBusy(false);
    }
  };
  return (
    <>
      <MarkdownEditor
        label="Edited text"
        value={text}
        rows={4}
        draft={draft}
        files={comment.attachments}
        readersOf={readersOf(issue)}
        onChange={handle.setText}
        onSubmit={() => void submit()}
        onCancel={onClose}
        hasFocus
      />
      <p className="form-problem" role="alert">
        {isDeleted && 'The comment was deleted by another person. '}
        {filesFirst.problem || problem}
      </p>
      <div className="actions">
        <button
          type="button"
          className="primary"
          disabled={isBusy || text.trim() === ''}
          onClick={() => void submit()}
        >
          {isDeleted ? 'Add as a new comment' : 'Save'}
        </button>
        <button
          type="button"
          onClick={() => {
            handle.discard(onReopen);
            onClose();
          }}
        >
          Discard
        </button>
        <span className="muted" role="status">
          {draftNote(handle)}
        </span>
      </div>
    </>
  );
}
