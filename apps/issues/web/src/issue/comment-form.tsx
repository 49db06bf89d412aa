import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import type { Comment, Issue } from '@tessera/contracts';
import { useRef, useState } from 'react';
import { draftNote, useDraft } from '../drafts/use-draft.ts';
import { useFilesFirst } from '../files/use-files-first.ts';
import { call, type Page } from '../http/api.ts';
import { notCreated } from '../http/http.ts';
import { refreshIssue } from '../http/queries.ts';
import { chooserId, MarkdownEditor } from '../markdown/markdown-editor.tsx';
import { applyEdit, quoteEdit } from '../markdown/text-edits.ts';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { focusIfLost } from '../shell/focus.ts';
import { notifyDone, takeBack } from '../shell/toasts.tsx';
import { readersOf } from './access.ts';

export const commentFieldId = 'new-comment';

export function CommentForm({ issue }: { issue: Issue }) {
  const client = useQueryClient();
  const draft = `${issue.id}/comment`;
  const comment = useDraft(draft, '', issue.version);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const { text } = comment.draft;
  const filesFirst = useFilesFirst(text);

  const quote = () => {
    const field = document.getElementById(commentFieldId);
    if (!(field instanceof HTMLTextAreaElement)) return;
    const pages = client.getQueryData<InfiniteData<Page<Comment>>>(['comments', issue.key])?.pages;
    const quoted = selectedText() ?? pages?.[0]?.items[0]?.body;
    if (quoted === undefined) field.focus();
    else applyEdit(field, quoteEdit(field.value, quoted));
  };
  useCommands(
    ofIssue([
      { key: 'r', name: 'Quote the selected text or the newest comment', run: quote },
      {
        key: 'u',
        name: 'Attach files to a comment',
        run: () => document.getElementById(chooserId(commentFieldId))?.click(),
      },
    ]),
  );

  /** To the text that was not sent: the next key, such as Escape, is meant for it. */
  const goBack = () => focusIfLost(() => document.getElementById(commentFieldId));
  const submit = async () => {
    if (isBusy || text.trim() === '') return;
    setBusy(true);
    setProblem('');
    try {
      const text = await filesFirst.complete(comment.latest());
      if (text === undefined) return goBack();
      if (text !== comment.latest()) comment.setText(text);
      // A repetition after a lost response adds no second comment.
      const idempotencyKey = await comment.sendingKey();
      const params = { id: issue.key };
      const { id } = await call('addComment', { params, body: { body: text }, idempotencyKey });
      comment.sent(text);
      notifyDone('Comment added', () => undo(id, text));
      // The next comment need not wait for what the page shows of this one.
      void refreshIssue(client, issue.key);
      void client.invalidateQueries({ queryKey: ['issues'] });
    } catch (error) {
      setProblem(notCreated('The comment', 'added', error));
      goBack();
    } finally {
      setBusy(false);
    }
  };

  const latest = useRef(comment);
  latest.current = comment;
  /** Deletes the comment; its text is a draft again, unless another one is typed. */
  const undo = (id: string, sent: string) =>
    takeBack(
      async () => {
        await call('deleteComment', { params: { id: issue.key, comment_id: id } });
        if (latest.current.draft.text === '') latest.current.setText(sent);
      },
      () => refreshIssue(client, issue.key),
    );

  return (
    <form
      className="comment-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <MarkdownEditor
        label="Comment"
        value={text}
        draft={draft}
        files={issue.attachments}
        fieldId={commentFieldId}
        readersOf={readersOf(issue)}
        placeholder="Add a comment"
        rows={4}
        onChange={comment.setText}
        onSubmit={() => {
          // The keys after it are shortcuts, not the next comment.
          if (text.trim() !== '') document.getElementById(commentFieldId)?.blur();
          void submit();
        }}
      />
      <p className="form-problem" role="alert">
        {filesFirst.problem || problem}
      </p>
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy || text.trim() === ''}>
          {isBusy ? 'Adding…' : 'Comment'}
        </button>
        <span className="muted" role="status">
          {draftNote(comment)}
        </span>
      </div>
    </form>
  );
}

/** What is selected in the description or a comment. */
function selectedText(): string | undefined {
  const selection = getSelection();
  const within = selection?.anchorNode?.parentElement?.closest('.markdown');
  const text = selection?.toString().trim() ?? '';
  return within == null || text === '' ? undefined : text;
}
