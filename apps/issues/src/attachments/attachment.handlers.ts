import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Attachment,
  attachmentBytesMax,
  type deleteAttachment,
  type getAttachment,
  type getAttachmentContent,
  type listAttachments,
  type uploadAttachment,
} from '@tessera/contracts';
import { type Handler, ProblemError, validationProblem } from '@tessera/service-kit';
import type { OnceHandler } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import { presentFile } from '../issue-core/attachment.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { presentPerson } from '../issue-core/person.ts';
import { isKnown } from '../issue-core/precondition.ts';
import type { AttachmentService } from './attachment.service.ts';
import type { StoredFile } from './attachment.ts';
import { contentHeaders, dispositionOf, rangeOf } from './content.ts';
import { incomingBytes, sendBytes } from './transfer.ts';

interface AttachmentHandlersOptions {
  attachments: AttachmentService;
  urls: IssueUrls;
}

/** Handlers of files. */
export function attachmentHandlers({ attachments, urls }: AttachmentHandlersOptions) {
  const created = (file: StoredFile) => ({
    status: 201 as const,
    headers: { Location: urls.attachment(file.id) },
    body: present(file, urls),
  });
  const issueOf = ({ issue }: { issue?: string | undefined }, actor: Actor) =>
    issue === undefined ? undefined : urls.named(issue, 'issue', actor);

  const upload: OnceHandler<typeof uploadAttachment> = {
    before: async ({ actor, query, request }) => {
      sizeOf(request);
      const issue = issueOf(query, actor);
      if (issue !== undefined) await attachments.assertMayAttach(actor, issue);
    },
    // The bytes of a repeated request are not read, so they are not part of what identifies it.
    fingerprintOf: ({ query, headers, request }) => [
      query.name,
      query.issue ?? null,
      sizeOf(request),
      headers['Repr-Digest'] ?? null,
    ],
    prepare: async ({ actor, query, headers, request, requestId, response }) => {
      const received = await attachments.receive({
        name: query.name,
        size: sizeOf(request),
        uploaderId: actor.id,
        digest: digestOf(headers['Repr-Digest']),
        bytes: incomingBytes(request, response),
        isForIssue: query.issue !== undefined,
      });
      return async (transaction) => {
        const by = { actor, requestId, issue: issueOf(query, actor) };
        const file = await attachments.finish(received, by, transaction);
        return { resourceId: file.id, response: created(file) };
      };
    },
    present: async (id, { actor }) => created(await attachments.findStored(id, actor)),
  };

  const get: Handler<typeof getAttachment, Actor> = async ({ actor, params }) => ({
    status: 200,
    body: present(await attachments.find(params.attachment_id, actor), urls),
  });

  const getContent: Handler<typeof getAttachmentContent, Actor> = async (call) => {
    const { actor, params, headers, request } = call;
    const file = await attachments.findStored(params.attachment_id, actor);
    const { size, name, mediaType } = file;
    const etag = `"${Buffer.from(file.sha256).toString('base64url')}"`;
    const known = headers['If-None-Match'];
    if (known !== undefined && isKnown(known, etag))
      return { status: 304, headers: { ...contentHeaders, ETag: etag } };
    const asked = { range: headers.Range, ifRange: headers['If-Range'] };
    const part = request.method === 'GET' ? rangeOf(asked, { size, etag }) : undefined;
    const range = part ?? { start: 0, end: size };
    const shown = {
      ...contentHeaders,
      'Content-Type': mediaType,
      'Content-Length': String(range.end - range.start),
      'Content-Disposition': dispositionOf(name, mediaType !== 'application/octet-stream'),
      ETag: etag,
    };
    // The response to HEAD has no bytes.
    const bytes = request.method === 'HEAD' ? undefined : await attachments.open(file, range);
    const stream = (response: ServerResponse) => {
      if (bytes !== undefined) void sendBytes(bytes, response);
    };
    if (part === undefined) return { status: 200, headers: shown, stream };
    const contentRange = `bytes ${range.start}-${range.end - 1}/${size}`;
    return { status: 206, headers: { ...shown, 'Content-Range': contentRange }, stream };
  };

  const remove: Handler<typeof deleteAttachment, Actor> = async ({ actor, params, requestId }) => {
    await attachments.delete(params.attachment_id, actor, requestId);
    return { status: 204 };
  };

  const list: Handler<typeof listAttachments, Actor> = async ({ actor, params }) => {
    const files = await attachments.list(urls.parse(params, actor));
    return { status: 200, body: files.map((file) => present(file, urls)) };
  };

  return { upload, get, getContent, remove, list };
}

function present(file: StoredFile, urls: IssueUrls): Attachment {
  const isPicture = file.mediaType !== 'application/octet-stream';
  return {
    ...presentFile(file, urls),
    issue_id: file.issueId,
    sha256: Buffer.from(file.sha256).toString('hex'),
    state: file.state,
    markdown: `${isPicture ? '!' : ''}[${file.name.replace(/[\\[\]`*_<>!&@]/g, '\\$&')}](attachment:${file.id})`,
    uploader: presentPerson(file.uploaderId, file.uploaderName),
    created_at: file.createdAt.toISOString(),
    expires_at: file.issueId === null ? (file.expiresAt?.toISOString() ?? null) : null,
  };
}

function sizeOf({ headers }: IncomingMessage): number {
  const { 'content-length': length } = headers;
  if (length === undefined)
    throw new ProblemError({
      status: 411,
      code: 'length_required',
      detail: 'An upload needs Content-Length.',
      headers: { Connection: 'close' },
    });
  const size = Number(length);
  if (size <= attachmentBytesMax) return size;
  throw new ProblemError({
    status: 413,
    code: 'attachment_too_large',
    detail: `A file has at most ${attachmentBytesMax} bytes.`,
    headers: { Connection: 'close' },
  });
}

// RFC 9530 2: the last member of a name counts. Other hashes are ignored, as it demands.
function digestOf(header: string | undefined): Uint8Array | undefined {
  const members = (header ?? '').split(',').map((member) => member.trim());
  const member = members.findLast((one) => /^sha-256\s*(?:[=;]|$)/i.test(one));
  if (member === undefined) return undefined;
  const [, digest = ''] = /^sha-256=:([A-Za-z0-9+/]{43}=):(?:;.*)?$/.exec(member) ?? [];
  const bytes = Buffer.from(digest, 'base64');
  if (bytes.length === 32) return bytes;
  throw validationProblem([{ field: 'Repr-Digest', message: 'must be sha-256=:…: with 32 bytes as base64' }]);
}
