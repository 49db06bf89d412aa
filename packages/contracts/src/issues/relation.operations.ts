import { z } from 'zod';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import { issueSummarySchema } from './issue-response.schemas.ts';
import {
  etagHeader,
  ifMatchProblem,
  issueNotFound,
  issueParams,
  issuesPath,
  preconditionHeaders,
  unverifiedProblem,
} from './operation-parts.schemas.ts';

/** How an issue, the source, is related to another one, the target. `relates` has no direction. */
export const relationKinds = ['blocks', 'parent', 'relates', 'duplicate'] as const;
export const relationKindSchema = z.enum(relationKinds).meta({ id: 'RelationKind' });
export type RelationKind = z.infer<typeof relationKindSchema>;

export const relationDirections = ['outgoing', 'incoming'] as const;
const directionSchema = z.enum(relationDirections);
export type RelationDirection = z.infer<typeof directionSchema>;

/** Maximum number of relations of an issue. */
export const relationsMax = 100;
/** Maximum number of them that people have added who may not change the issue, so that its own people have the rest. */
export const guestRelationsMax = 50;
/** Maximum number of these by one person. */
export const guestRelationsOfOneMax = 10;
/** Maximum number of levels of parents, with the first issue and the last one. */
export const parentLevelsMax = 5;
/** Maximum number of issues that follow an issue by relations of one kind. */
export const relationChainMax = 1_000;

/** A relation as one of its two issues sees it. */
export const relationSchema = z
  .object({
    id: uuid(),
    kind: relationKindSchema,
    direction: directionSchema.describe(
      '`outgoing`: the issue blocks the other one, is its parent, or is a duplicate of it; `incoming`: the other way round.',
    ),
    issue: issueSummarySchema
      .pick({ id: true, key: true, title: true, status: true })
      .describe('The other issue.'),
    created_by: uuid().describe('The id of the person who added it.'),
    created_at: z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.'),
  })
  .meta({ id: 'Relation' });
export type Relation = z.infer<typeof relationSchema>;

/** POST /api/v1/issues/{id}/relations/ */
export const putRelationSchema = z
  .object({
    kind: relationKindSchema,
    direction: directionSchema.default('outgoing').describe('As the issue of the path sees it.'),
    issue: z.string().max(50).describe('The id, the key or the number of the other issue.'),
    replace: z
      .boolean()
      .default(false)
      .describe('With `parent`: takes the place of the parent that the part has, if both are readable.'),
  })
  .meta({ id: 'PutRelation' });

const path = `${issuesPath}/:id/relations/`;
const common = { tags: ['Relations'], security: ['accessToken'], params: issueParams } as const;
const staleProblem = {
  status: 412,
  codes: ['precondition_failed'],
  description: 'The issue has been changed since the ETag in `If-Match`.',
} as const;
const putHeaders = { ...etagHeader, ...ignoredFieldsHeader };

export const listRelations = operation({
  ...common,
  id: 'listRelations',
  method: 'GET',
  path,
  summary: 'List the relations of an issue to other issues, the oldest first',
  description: 'Each in the direction in which this issue sees it.',
  responses: {
    200: {
      description: `All relations, at most ${relationsMax}.`,
      schema: z.array(relationSchema).max(relationsMax),
    },
  },
  problems: [401, unverifiedProblem, issueNotFound, 422],
});

export const putRelation = operation({
  ...common,
  id: 'putRelation',
  method: 'POST',
  path,
  summary: 'Relate an issue to another one',
  description: `Changes nothing if both are related so already. \`blocks\`, \`parent\` and \`duplicate\` must not lead back to the issue. An issue has at most ${relationsMax} relations and one parent; people who may not change it add at most ${guestRelationsMax} of them, each ${guestRelationsOfOneMax}; parents have at most ${parentLevelsMax} levels. The history of both issues has the relation.`,
  headers: preconditionHeaders,
  body: { schema: putRelationSchema, example: { kind: 'blocks', issue: 'ISS-2' } },
  responses: {
    200: { description: 'The relation that was there.', schema: relationSchema, headers: putHeaders },
    201: { description: 'The new relation.', schema: relationSchema, headers: putHeaders },
  },
  problems: [
    ifMatchProblem,
    401,
    403,
    issueNotFound,
    { status: 409, codes: ['relation_cycle', 'relation_too_deep', 'parent_exists'] },
    staleProblem,
    422,
  ],
});

export const deleteRelation = operation({
  ...common,
  id: 'deleteRelation',
  method: 'DELETE',
  path: `${path}:relation_id/`,
  summary: 'Delete a relation of an issue',
  description: 'The history of both issues keeps it.',
  params: issueParams.extend({ relation_id: uuid() }),
  headers: preconditionHeaders,
  responses: { 204: { description: 'Deleted.' } },
  problems: [
    ifMatchProblem,
    401,
    403,
    { status: 404, codes: ['issue_not_found', 'relation_not_found'] },
    staleProblem,
    422,
  ],
});
