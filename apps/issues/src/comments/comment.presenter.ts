import type { addComment, Comment as WireComment } from '@tessera/contracts';
import type { ResponseOf } from '@tessera/service-kit';
import type { IssueUrls } from '../issues/issue-urls.ts';
import { presentPerson } from '../people/person.presenter.ts';
import type { Comment } from './comment.ts';

/** Converts a comment to its representation in the API, which is the same in an issue. */
export function presentComment(comment: Comment): WireComment {
  return {
    id: comment.id,
    issue_id: comment.issueId,
    body: comment.body,
    author: presentPerson(comment.authorId, comment.authorName),
    origin: comment.origin,
    external: comment.isExternal
      ? {
          author: comment.externalAuthor,
          created_at: comment.externalCreatedAt?.toISOString() ?? null,
        }
      : null,
    created_at: comment.createdAt.toISOString(),
    updated_at: comment.updatedAt.toISOString(),
  };
}

export function presentCreatedComment(comment: Comment, urls: IssueUrls): ResponseOf<typeof addComment> {
  const location = urls.of(comment.issueId, 'comments', comment.id);
  return { status: 201, headers: { Location: location }, body: presentComment(comment) };
}
