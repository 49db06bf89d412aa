import { z } from 'zod';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import {
  idempotencyHeaders,
  ifMatchProblem,
  keyReusedCode,
  locationHeader,
  replayedHeader,
  unverifiedProblem,
} from './operation-parts.schemas.ts';
import {
  createViewSchema,
  listedSharedViewsMax,
  sharedViewsMax,
  updateViewSchema,
  viewSchema,
  viewsMax,
} from './view.schemas.ts';

const path = '/api/v1/views/';
const common = { tags: ['Views'], security: ['accessToken'] };
const params = z.object({ id: uuid() });
const etagHeader = { ETag: z.string().describe('Strong ETag of the response.') };
const view = { description: 'The view.', schema: viewSchema, headers: etagHeader };
const notModified = { description: 'Not modified.', headers: etagHeader };
const conditionalHeaders = z.object({ 'If-None-Match': z.string().optional() });
const preconditionHeaders = z.object({
  'If-Match': z
    .string()
    .optional()
    .describe('The ETag of the view on which the change is based. Compared strongly (RFC 9110 13.1.1).'),
});
const viewNotFound = { status: 404, codes: ['view_not_found'] } as const;
const staleProblem = {
  status: 412,
  codes: ['precondition_failed'],
  description: 'The view has been changed since the ETag in `If-Match`.',
} as const;
const tooMany = `\`too_many_views\`: a person has ${viewsMax} views and shares ${sharedViewsMax} of them at most`;

export const listViews = operation({
  id: 'listViews',
  ...common,
  method: 'GET',
  path,
  summary: 'List the saved views',
  description: `All views of the caller, the oldest first, then the ${listedSharedViewsMax} oldest that other people share, on one page.`,
  query: z.strictObject({}),
  headers: conditionalHeaders,
  responses: {
    200: {
      description: 'The views.',
      schema: z.array(viewSchema).max(viewsMax + listedSharedViewsMax),
      headers: etagHeader,
    },
    304: notModified,
  },
  problems: [401, unverifiedProblem, 422],
});

export const createView = operation({
  id: 'createView',
  ...common,
  method: 'POST',
  path,
  summary: 'Save a view',
  description: `A name for the filters and the order of a list. A person has at most ${viewsMax} views, of which ${sharedViewsMax} are shared.`,
  headers: idempotencyHeaders,
  body: {
    schema: createViewSchema,
    example: { name: 'Billing, open', query: 'is_open=true&label=billing' },
  },
  responses: {
    201: {
      ...view,
      headers: { ...etagHeader, ...locationHeader, ...replayedHeader, ...ignoredFieldsHeader },
    },
  },
  problems: [
    401,
    unverifiedProblem,
    {
      status: 404,
      codes: ['view_not_found'],
      description: '`view_not_found`: the view of an earlier request with the same key was deleted since.',
    },
    {
      status: 409,
      codes: ['too_many_views', 'request_in_progress'],
      description: `${tooMany}; \`request_in_progress\`: a request with the same key is in progress.`,
    },
    { status: 422, codes: ['validation_failed', keyReusedCode] },
  ],
});

export const getView = operation({
  id: 'getView',
  ...common,
  method: 'GET',
  path: `${path}:id/`,
  summary: 'Read a view',
  description: 'An own view, or a shared one of anyone.',
  params,
  headers: conditionalHeaders,
  responses: { 200: view, 304: notModified },
  problems: [401, unverifiedProblem, viewNotFound, 422],
});

export const updateView = operation({
  id: 'updateView',
  ...common,
  method: 'PATCH',
  path: `${path}:id/`,
  summary: 'Rename, share or change a view',
  description:
    'For the owner, and for staff if it is shared. Only given members change; at least one is required. Equal values change nothing.',
  params,
  headers: preconditionHeaders,
  body: { schema: updateViewSchema, example: { is_shared: true } },
  responses: { 200: { ...view, headers: { ...etagHeader, ...ignoredFieldsHeader } } },
  problems: [
    ifMatchProblem,
    401,
    403,
    viewNotFound,
    { status: 409, codes: ['too_many_views'], description: `${tooMany}.` },
    staleProblem,
    422,
  ],
});

export const deleteView = operation({
  id: 'deleteView',
  ...common,
  method: 'DELETE',
  path: `${path}:id/`,
  summary: 'Delete a view',
  description: 'For the owner, and for staff if it is shared. Issues stay as they are.',
  params,
  headers: preconditionHeaders,
  responses: { 204: { description: 'Deleted.' } },
  problems: [ifMatchProblem, 401, 403, viewNotFound, staleProblem, 422],
});
