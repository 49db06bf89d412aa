import type { addComment, getComment, Comment as WireComment } from '@tessera/contracts';
import { jsonText, type ResponseOf } from '@tessera/service-kit';
import { presentFile } from './attachment.ts';
import { type Comment, stateOf } from './comment.ts';
import type { IssueUrls } from './issue-reference.ts';
import { presentPerson } from './person.ts';
import { shortHash } from './precondition.ts';

/** Converts a comment to its representation in the API, which is the same in an issue. */
export function presentComment(comment: Comment, urls: IssueUrls): WireComment {
  const files = comment.files ?? [];
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
    mentions: (comment.mentioned ?? []).map(({ id, names }) => presentPerson(id, names)),
    attachments: files.map((file) => presentFile(file, urls)),
    attachments_count: files.length,
    created_at: comment.createdAt.toISOString(),
    updated_at: comment.updatedAt.toISOString(),
  };
}

/** Returns the response with a comment. Its ETag consists of the state that a client can overwrite and a hash. */
export function commentResponse(
  comment: Comment,
  urls: IssueUrls,
): ResponseOf<typeof getComment> & { status: 200; headers: { ETag: string } } {
  const body = jsonText(presentComment(comment, urls));
  return { status: 200, headers: { ETag: `"${stateOf(comment)}-${shortHash(body)}"` }, body };
}

export function createdCommentResponse(comment: Comment, urls: IssueUrls): ResponseOf<typeof addComment> {
  const { headers, body } = commentResponse(comment, urls);
  const location = urls.of(comment.issueId, 'comments', comment.id);
  return { status: 201, headers: { ...headers, Location: location }, body };
}
