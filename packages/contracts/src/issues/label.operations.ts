import { z } from 'zod';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import { createLabelSchema, labelSchema, labelsMax, updateLabelSchema } from './label.schemas.ts';
import {
  idempotencyHeaders,
  ifMatchProblem,
  keyReusedCode,
  locationHeader,
  replayedHeader,
  unverifiedProblem,
} from './operation-parts.schemas.ts';

const path = '/api/v1/labels/';
const common = { tags: ['Labels'], security: ['accessToken'] };
const params = z.object({ id: uuid() });
const etagHeader = { ETag: z.string().describe('Strong ETag of the response.') };
const label = { description: 'The label.', schema: labelSchema, headers: etagHeader };
const notModified = { description: 'Not modified.', headers: etagHeader };
const conditionalHeaders = z.object({ 'If-None-Match': z.string().optional() });
const preconditionHeaders = z.object({
  'If-Match': z
    .string()
    .optional()
    .describe('The ETag of the label on which the change is based. Compared strongly (RFC 9110 13.1.1).'),
});
const labelNotFound = { status: 404, codes: ['label_not_found'] } as const;
const staleProblem = {
  status: 412,
  codes: ['precondition_failed'],
  description: 'The label has been changed since the ETag in `If-Match`.',
} as const;
const existsProblem = {
  status: 409,
  codes: ['label_exists'],
  description: '`label_exists`: `label` has this name already.',
  members: { label: labelSchema },
} as const;

export const listLabels = operation({
  id: 'listLabels',
  ...common,
  method: 'GET',
  path,
  summary: 'List all labels',
  description: `All labels (at most ${labelsMax}), sorted by name, on one page.`,
  query: z.strictObject({}),
  headers: conditionalHeaders,
  responses: {
    200: { description: 'The labels.', schema: z.array(labelSchema).max(labelsMax), headers: etagHeader },
    304: notModified,
  },
  problems: [401, unverifiedProblem, 422],
});

export const createLabel = operation({
  id: 'createLabel',
  ...common,
  method: 'POST',
  path,
  summary: 'Create a label',
  description: `For staff. Names are unique without regard to case. There are at most ${labelsMax} labels.`,
  headers: idempotencyHeaders,
  body: {
    schema: createLabelSchema,
    example: { name: 'billing', color: '#d73a4a' },
  },
  responses: {
    201: {
      ...label,
      headers: { ...etagHeader, ...locationHeader, ...replayedHeader, ...ignoredFieldsHeader },
    },
  },
  problems: [
    401,
    403,
    {
      status: 404,
      codes: ['label_not_found'],
      description: '`label_not_found`: the label of an earlier request with the same key was deleted since.',
    },
    {
      status: 409,
      codes: ['label_exists', 'too_many_labels', 'request_in_progress'],
      description:
        '`label_exists`: `label` has this name already; `too_many_labels`; `request_in_progress`: a request with the same key is in progress.',
      members: { label: labelSchema },
    },
    { status: 422, codes: ['validation_failed', keyReusedCode] },
  ],
});

export const getLabel = operation({
  id: 'getLabel',
  ...common,
  method: 'GET',
  path: `${path}:id/`,
  summary: 'Read a label',
  description: 'Every user may read labels.',
  params,
  headers: conditionalHeaders,
  responses: { 200: label, 304: notModified },
  problems: [401, unverifiedProblem, labelNotFound, 422],
});

export const updateLabel = operation({
  id: 'updateLabel',
  ...common,
  method: 'PATCH',
  path: `${path}:id/`,
  summary: 'Rename a label or change its colour',
  description:
    'For staff. Only given members change; at least one is required. All issues with the label show the change at once, without a line in their history. Equal values change nothing.',
  params,
  headers: preconditionHeaders,
  body: {
    schema: updateLabelSchema,
    example: { name: 'invoices' },
  },
  responses: { 200: { ...label, headers: { ...etagHeader, ...ignoredFieldsHeader } } },
  problems: [ifMatchProblem, 401, 403, labelNotFound, existsProblem, staleProblem, 422],
});

export const deleteLabel = operation({
  id: 'deleteLabel',
  ...common,
  method: 'DELETE',
  path: `${path}:id/`,
  summary: 'Delete a label',
  description: 'For staff. The label is removed from all issues at once, without an entry in their history.',
  params,
  headers: preconditionHeaders,
  responses: { 204: { description: 'Deleted.' } },
  problems: [ifMatchProblem, 401, 403, labelNotFound, staleProblem, 422],
});
