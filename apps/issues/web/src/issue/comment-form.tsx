import { useQueryClient } from '@tanstack/react-query';
import type { Issue } from '@tessera/contracts';
import { useState } from 'react';
import { draftNote, useDraft } from '../drafts/use-draft.ts';
import { call } from '../http/api.ts';
import { notCreated } from '../http/http.ts';
import { issueQuery } from '../http/queries.ts';
import { MarkdownEditor } from '../markdown/markdown-editor.tsx';

export const commentFieldId = 'new-comment';

export function CommentForm({ issue }: { issue: Issue }) {
  const client = useQueryClient();
  const comment = useDraft(`${issue.id}/comment`, '', issue.version);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const { text } = comment.draft;

  const submit = async () => {
    if (isBusy || text.trim() === '') return;
    setBusy(true);
    setProblem('');
    try {
      // A repetition after a lost response adds no second comment.
      const idempotencyKey = await comment.sendingKey();
      await call('addComment', { params: { id: issue.key }, body: { body: text }, idempotencyKey });
      comment.sent(text);
      await Promise.all([
        client.invalidateQueries({ queryKey: ['comments', issue.key] }),
        client.invalidateQueries({ queryKey: issueQuery(issue.key).queryKey }),
        client.invalidateQueries({ queryKey: ['issues'] }),
      ]);
    } catch (error) {
      setProblem(notCreated('The comment', 'added', error));
    } finally {
      setBusy(false);
    }
  };

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
        fieldId={commentFieldId}
        placeholder="Add a comment"
        rows={4}
        onChange={comment.setText}
        onSubmit={() => void submit()}
      />
      <p className="form-problem" role="alert">
        {problem}
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
