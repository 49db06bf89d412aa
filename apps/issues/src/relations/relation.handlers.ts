import type { deleteRelation, listRelations, putRelation, Relation } from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssuePresenter } from '../issue-core/issue.presenter.ts';
import { type IssueUrls, parseIssueReference } from '../issue-core/issue-reference.ts';
import { readIfMatch } from '../issue-core/precondition.ts';
import type { StoredRelation } from '../issue-core/relation.ts';
import type { RelationService } from './relation.service.ts';

interface RelationHandlersOptions {
  relations: RelationService;
  presenter: IssuePresenter;
  urls: IssueUrls;
}

export function relationHandlers({ relations, presenter, urls }: RelationHandlersOptions) {
  const present = (relation: StoredRelation): Relation => ({
    id: relation.id,
    kind: relation.kind,
    direction: relation.direction,
    issue: {
      id: relation.issueId,
      key: urls.keyOf(relation),
      title: relation.title,
      status: relation.status,
    },
    created_by: relation.createdBy,
    created_at: relation.createdAt.toISOString(),
  });
  const contextOf = (ifMatch: string | undefined, requestId: string) => ({
    precondition: { ifMatch: readIfMatch(ifMatch) },
    requestId,
  });

  const list: Handler<typeof listRelations, Actor> = async ({ actor, params }) => ({
    status: 200,
    body: (await relations.list(urls.parse(params, actor))).map(present),
  });

  const put: Handler<typeof putRelation, Actor> = async ({ actor, params, headers, body, requestId }) => {
    const other = parseIssueReference(body.issue, urls.keyPrefix, 'issue');
    const { issue, relation, isNew } = await relations.put(
      actor,
      urls.parse(params, actor),
      { kind: body.kind, direction: body.direction, replace: body.replace, other },
      contextOf(headers['If-Match'], requestId),
    );
    const { etag } = presenter.text(issue);
    return { status: isNew ? 201 : 200, headers: { ETag: etag }, body: present(relation) };
  };

  const remove: Handler<typeof deleteRelation, Actor> = async ({ actor, params, headers, requestId }) => {
    await relations.remove(
      actor,
      urls.parse(params, actor),
      params.relation_id,
      contextOf(headers['If-Match'], requestId),
    );
    return { status: 204 };
  };

  return { list, put, remove };
}
