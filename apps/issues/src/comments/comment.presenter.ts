import type { addComment, Comment as WireComment } from '@tessera/contracts';
import type { ResponseOf } from '@tessera/service-kit';
import type { IssueUrls } from '../issues/issue-urls.ts';
import type { Comment } from './comment.ts';

/** The wire form, field by field; the same as in `IssueDocument`. */
export function presentComment(comment: Comment): WireComment {
  return {
    id: comment.id,
    issue_id: comment.issueId,
    body: comment.body,
    author: comment.author,
    origin: comment.origin,
    external: comment.external,
    created_at: comment.createdAt.toISOString(),
    updated_at: comment.updatedAt.toISOString(),
  };
}

export function presentCreatedComment(comment: Comment, urls: IssueUrls): ResponseOf<typeof addComment> {
  const location = urls.of(comment.issueId, 'comments', comment.id);
  return { status: 201, headers: { Location: location }, body: presentComment(comment) };
}
