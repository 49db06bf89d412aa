import { z } from 'zod';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import { daySchema, issueStatusSchema, priorityInputSchema } from './issue-input.schemas.ts';
import { labelsInput } from './label.schemas.ts';
import {
  idempotencyHeaders,
  idempotencyProblem,
  issueOperation,
  issuesPath,
  keyReusedCode,
  personLookupProblems,
  unverifiedProblem,
} from './operation-parts.schemas.ts';

/** Maximum number of issues in a bulk change. */
export const bulkIssuesMax = 100;

const changes = ['status', 'priority', 'assignee_id', 'due_on', 'labels'] as const;
const labelList = labelsInput
  .describe('Names of existing labels, or labels from a response, by id.')
  .default([]);

/** POST /api/v1/issues/bulk/ */
export const bulkChangeSchema = z
  .object({
    ids: z
      .preprocess(
        // The schema would otherwise parse all items before it counts them.
        (value) => (Array.isArray(value) ? value.slice(0, bulkIssuesMax + 1) : value),
        z
          .array(z.string().max(50))
          .min(1, { error: 'must not be empty' })
          .max(bulkIssuesMax, { error: `must be at most ${bulkIssuesMax} issues` }),
      )
      .describe('Ids, keys or numbers.'),
    status: issueStatusSchema.optional(),
    priority: priorityInputSchema.optional(),
    assignee_id: uuid().nullable().optional().describe('Null unassigns.'),
    due_on: daySchema.nullable().optional().describe('Null for no due date.'),
    labels: z
      .object({ add: labelList, remove: labelList })
      .refine(({ add, remove }) => add.length + remove.length > 0, { error: 'must add or remove a label' })
      .optional(),
  })
  .refine((body) => changes.filter((name) => body[name] !== undefined).length === 1, {
    error: `must hold exactly one of ${changes.join(', ')}`,
  })
  .meta({ id: 'BulkChange' });
export type BulkChangeBody = z.output<typeof bulkChangeSchema>;

/** The result for one issue of a bulk change. */
export const bulkResultSchema = z
  .object({
    id: z.string().describe('As in the request.'),
    outcome: z.enum(['changed', 'unchanged', 'refused']),
    code: z
      .enum(['issue_not_found', 'forbidden', 'cannot_read', 'illegal_transition', 'too_many_labels'])
      .optional()
      .describe('The reason for `refused`; absent otherwise.'),
  })
  .meta({ id: 'BulkResult' });
export type BulkResult = z.infer<typeof bulkResultSchema>;

const bulkResultsSchema = z.object({ results: z.array(bulkResultSchema).max(bulkIssuesMax) });

export const changeIssues = operation({
  id: 'changeIssues',
  ...issueOperation,
  method: 'POST',
  path: `${issuesPath}/bulk/`,
  summary: 'Make one change to many issues',
  description: `Changes up to ${bulkIssuesMax} issues, each with its own rights and history, in one transaction. An issue that already has the value is \`unchanged\`; a refused one does not prevent the others. Each issue counts as one write. A repeated request with the same \`Idempotency-Key\` gets the results of the first one.`,
  headers: idempotencyHeaders,
  body: {
    schema: bulkChangeSchema,
    example: { ids: ['ISS-1', 'ISS-2'], priority: 'HIGH' },
  },
  responses: {
    200: {
      description: 'The results in the order of `ids`.',
      schema: bulkResultsSchema,
      headers: {
        'Idempotency-Replayed': z
          .string()
          .optional()
          .describe('`true` for the results of an earlier request with the same key.'),
        ...ignoredFieldsHeader,
      },
    },
  },
  problems: [
    401,
    unverifiedProblem,
    idempotencyProblem,
    { status: 422, codes: ['validation_failed', 'unknown_identity', keyReusedCode] },
    ...personLookupProblems,
  ],
});
