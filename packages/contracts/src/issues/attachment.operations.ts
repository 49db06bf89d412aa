import { z } from 'zod';
import { operation } from '../operation.ts';
import { once } from '../query-value.schemas.ts';
import { isInOrder, isVisible, oneLine, uuid } from '../text.schemas.ts';
import { attachedFileSchema, attachmentsPerIssueMax } from './attachment.schemas.ts';
import { personSchema } from './issue-response.schemas.ts';
import {
  idempotencyHeaders,
  issueNotFound,
  issueParams,
  issuesPath,
  keyReusedCode,
  locationHeader,
  replayedHeader,
  unverifiedProblem,
} from './operation-parts.schemas.ts';

/** A file with all that is known of it, besides its bytes. */
export const attachmentSchema = attachedFileSchema
  .extend({
    issue_id: uuid().nullable().describe('Null until a text of an issue names the file.'),
    sha256: z.string().describe('The SHA-256 of the bytes, in hexadecimal digits.'),
    state: z.enum(['stored', 'deleted']).describe('A deleted file has no content.'),
    markdown: z.string().describe('The text that shows the file in a description or a comment.'),
    uploader: personSchema,
    created_at: z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.'),
    expires_at: z.iso
      .datetime()
      .nullable()
      .describe('When the file is deleted unless a text names it before; null for a file of an issue.'),
  })
  .meta({ id: 'Attachment' });
export type Attachment = z.infer<typeof attachmentSchema>;

const path = '/api/v1/attachments/';
const common = { tags: ['Attachments'], security: ['accessToken'] };
const attachmentParams = z.object({ attachment_id: uuid() });
const notFound = { status: 404, codes: ['attachment_not_found'] } as const;
const busy = {
  status: 429,
  codes: ['too_many_requests', 'too_many_uploads'],
  description: '`too_many_uploads`: too many transfers are in progress, of the caller or in the process.',
} as const;
const storageDown = {
  status: 503,
  codes: ['temporarily_unavailable', 'storage_unavailable'],
  description: '`storage_unavailable`: the store of files does not respond.',
} as const;

export const uploadAttachment = operation({
  ...common,
  id: 'uploadAttachment',
  method: 'POST',
  path,
  summary: 'Upload a file',
  description:
    'The body is the file as it is, with its `Content-Length` and at least 16 kB/s. The file belongs to an issue when its uploader writes a description or a comment that contains `attachment:` with its id, or at once with `issue`. Without an issue, only its uploader sees it, and it is deleted after 7 days. A repeated request with the same `Idempotency-Key` must have the same name, issue, length and digest; its body is not read. At most 100 MiB without an issue and 1 GiB in a day for each person, of which a file counts as 64 KiB or more.',
  query: z.object({
    name: once
      .pipe(oneLine(255).check(isVisible(), isInOrder()))
      .describe('The name of the file, of at most 255 characters.')
      .meta({ param: { example: 'shot.png' } }),
    issue: once.max(50).optional().describe('The id, the key or the number of the issue of the file.'),
  }),
  headers: idempotencyHeaders.extend({
    'Repr-Digest': z
      .string()
      .max(1_000)
      .optional()
      .describe('`sha-256=:…:` (RFC 9530): the file is refused if its bytes have another hash.'),
  }),
  upload: { description: 'The bytes of the file, of at most 25 MiB.' },
  responses: {
    201: {
      description: 'The file is stored.',
      schema: attachmentSchema,
      headers: { ...locationHeader, ...replayedHeader },
    },
  },
  problems: [
    401,
    unverifiedProblem,
    {
      status: 404,
      codes: ['issue_not_found', 'attachment_not_found'],
      description:
        '`attachment_not_found`: the file of an earlier request with the same key was deleted since.',
    },
    408,
    {
      status: 409,
      codes: ['quota_exceeded', 'too_many_attachments', 'request_in_progress'],
      description:
        '`quota_exceeded`: of the person, or of the store; `too_many_attachments`: of the issue; `request_in_progress`: a request with the same key is in progress.',
    },
    { status: 411, codes: ['length_required'] },
    { status: 413, codes: ['attachment_too_large'] },
    { status: 422, codes: ['validation_failed', 'digest_mismatch', keyReusedCode] },
    busy,
    storageDown,
  ],
});

export const getAttachment = operation({
  ...common,
  id: 'getAttachment',
  method: 'GET',
  path: `${path}:attachment_id/`,
  summary: 'Read what is known of a file',
  description: 'A file of an issue is for those who read the issue, another one for its uploader.',
  params: attachmentParams,
  responses: { 200: { description: 'The file, without its bytes.', schema: attachmentSchema } },
  problems: [401, unverifiedProblem, notFound, 422],
});

const contentHeaders = {
  ETag: z.string().describe('Strong ETag: the SHA-256 of the bytes.'),
  'Accept-Ranges': z.literal('bytes'),
  'Content-Disposition': z
    .string()
    .optional()
    .describe('`inline` for a picture, `attachment` for another file, with the name.'),
  'Content-Range': z.string().optional().describe('With 206: the range, and the size of the file.'),
};

export const getAttachmentContent = operation({
  ...common,
  id: 'getAttachmentContent',
  method: 'GET',
  path: `${path}:attachment_id/content/`,
  summary: 'Download a file',
  description:
    "A picture has its type and is shown; any other file is `application/octet-stream` and is saved. Nothing in it is run: `nosniff`, and a policy of `sandbox` and `default-src 'none'`.",
  params: attachmentParams,
  headers: z.object({
    'If-None-Match': z.string().optional(),
    'If-Range': z.string().optional().describe('The ETag of the part that the caller has.'),
    Range: z
      .string()
      .optional()
      .describe('One range of bytes, such as `bytes=0-1023`. Several get the whole file.')
      .meta({ examples: ['bytes=0-1023'] }),
  }),
  responses: {
    200: { description: 'The bytes of the file.', bytes: true, headers: contentHeaders },
    206: { description: 'The bytes of the range.', bytes: true, headers: contentHeaders },
    304: { description: 'Not modified.', headers: { ETag: contentHeaders.ETag } },
  },
  problems: [
    401,
    unverifiedProblem,
    notFound,
    { status: 416, codes: ['range_not_satisfiable'], description: 'The file has no byte of the range.' },
    422,
    busy,
    storageDown,
  ],
});

export const deleteAttachment = operation({
  ...common,
  id: 'deleteAttachment',
  method: 'DELETE',
  path: `${path}:attachment_id/`,
  summary: 'Delete a file',
  description:
    'For the uploader, for staff, and for managers of a project that not everyone reads. The history of the issue keeps its name and size. Deleting a deleted file changes nothing.',
  params: attachmentParams,
  responses: { 204: { description: 'Deleted.' } },
  problems: [401, 403, notFound, 422],
});

export const listAttachments = operation({
  ...common,
  id: 'listAttachments',
  method: 'GET',
  path: `${issuesPath}/:id/attachments/`,
  summary: 'List the files of an issue, the oldest first',
  description: 'Also files that no text names any more.',
  params: issueParams,
  responses: {
    200: {
      description: 'All files of the issue.',
      schema: z.array(attachmentSchema).max(attachmentsPerIssueMax),
    },
  },
  problems: [401, unverifiedProblem, issueNotFound, 422],
});
