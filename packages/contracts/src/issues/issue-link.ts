import { z } from 'zod';
import { emailMaxLength, ssoIdSchema, ssoProviderSchema } from '../identity/identity.ts';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { isStorableText, singleLineText, uuid } from '../text.ts';
import {
  etagHeader,
  issueOperation,
  issueParams,
  issuesPath,
  preconditionHeaders,
} from './issue-operation.ts';

/** Types of links (issue-tracking.md 2.3). */
export const linkTypes = ['helpdesk_ticket', 'entity', 'invoice', 'user', 'external_issue'] as const;
export const linkTypeSchema = z.enum(linkTypes);
export type LinkType = z.infer<typeof linkTypeSchema>;

export const linkRelations = ['relates_to', 'caused_by', 'blocks', 'duplicates'] as const;
export const linkRelationSchema = z.enum(linkRelations);
export type LinkRelation = z.infer<typeof linkRelationSchema>;

/** Maximum number of links of an issue. */
export const linksMax = 50;
export const linkRefMaxLength = 255;
/** Maximum size of a link's metadata as JSON text, in bytes of UTF-8. */
export const linkMetadataMaxBytes = 4096;
export const linkUrlMaxBytes = 2048;
const linkMetadataMaxDepth = 8;

const refText = singleLineText()
  .trim()
  .min(1, { error: 'must not be empty' })
  .max(linkRefMaxLength, { error: `must be at most ${linkRefMaxLength} characters` });

/** An e-mail address for a lookup; a malformed one is not found. */
const lookupEmail = singleLineText()
  .trim()
  .max(emailMaxLength, { error: `must be at most ${emailMaxLength} characters` })
  .includes('@', { error: 'must be an e-mail address' });

const personText = z.union([
  uuid().transform((id) => ({ id })),
  lookupEmail.transform((email) => ({ email })),
]);

/** How a request names a user. */
export type PersonInput = { id: string } | { email: string } | { sso_provider: string; sso_id: string };

function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** A URL that may be shown as a link: http or https. */
export const httpUrlSchema = singleLineText()
  .max(linkUrlMaxBytes, { error: `must be at most ${linkUrlMaxBytes} characters` })
  .refine((value) => jsonBytes(value) - 2 <= linkUrlMaxBytes, {
    error: `must be at most ${linkUrlMaxBytes} bytes`,
  })
  .refine((value) => /^https?:\/\//i.test(value) && URL.canParse(value), { error: 'must be an http(s) URL' });

const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => isStorableJson(value, 0), {
    error: `must be storable text at most ${linkMetadataMaxDepth} levels deep`,
  })
  // Checked before serialising, because deep nesting can exceed the stack.
  .refine((value) => !isStorableJson(value, 0) || jsonBytes(value) <= linkMetadataMaxBytes, {
    error: `must be at most ${linkMetadataMaxBytes} bytes as JSON`,
  });

function isStorableJson(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= linkMetadataMaxDepth) return false;
  return Object.entries(value).every(([key, item]) => isStorableText(key) && isStorableJson(item, depth + 1));
}

const linkMembers = {
  ref: z
    .union(
      [
        refText,
        z.object({ id: uuid() }),
        z.object({ email: lookupEmail }),
        z.object({ sso_provider: ssoProviderSchema, sso_id: ssoIdSchema }),
      ],
      {
        error: ({ input }) =>
          input === undefined
            ? 'is required'
            : 'must be a string, or for a user an object with id, email, or sso_provider and sso_id',
      },
    )
    .describe(
      'The immutable id in the other system. For a user: a UUID, an e-mail address, or an object with `id`, `email`, or `sso_provider` and `sso_id`; stored as the UUID.',
    ),
  title: singleLineText().max(255, { error: 'must be at most 255 characters' }).nullish(),
  url: httpUrlSchema.nullish().describe('http or https; never fetched.'),
  relation: linkRelationSchema.default('relates_to'),
  metadata: metadata.nullish().describe('At most 4 KiB as JSON.'),
};

/** A link in a request. The further members of a response are accepted and ignored. */
export const linkInputSchema = z
  .object({ type: linkTypeSchema, ...linkMembers })
  .transform(({ type, ref, ...details }, context) => {
    if (type !== 'user') {
      if (typeof ref === 'string') return { ...details, type, ref };
      context.addIssue({ code: 'custom', path: ['ref'], message: 'must be a string' });
      return z.NEVER;
    }
    if (typeof ref !== 'string') return { ...details, type, person: ref };
    const person = personText.safeParse(ref);
    if (person.success) return { ...details, type, person: person.data };
    context.addIssue({ code: 'custom', path: ['ref'], message: 'must be a UUID or an e-mail address' });
    return z.NEVER;
  })
  .meta({ id: 'LinkInput' });
export type LinkInput = z.output<typeof linkInputSchema>;

/** A link in a response. */
export const linkSchema = z
  .object({
    id: uuid(),
    type: linkTypeSchema,
    ref: z.string(),
    title: z.string().nullable(),
    url: z.string().nullable(),
    relation: linkRelationSchema,
    metadata: z.record(z.string(), z.unknown()).nullable(),
    created_by: uuid().describe('The identity that created the link.'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Link' });
export type Link = z.infer<typeof linkSchema>;

const path = `${issuesPath}/:id/links/`;
const staleProblem = { status: 412, description: 'The issue has been changed since the ETag in `If-Match`.' };

const putHeaders = { ...etagHeader, ...ignoredFieldsHeader };

export const putLink = operation({
  id: 'putLink',
  ...issueOperation,
  method: 'POST',
  path,
  summary: 'Link an issue to a resource',
  description:
    'Updates the link if the issue has one with this type and ref. An issue has at most 50 links. `external_issue` is for staff. URLs are never fetched.',
  params: issueParams,
  headers: preconditionHeaders,
  body: { schema: linkInputSchema },
  responses: {
    200: {
      description: 'The updated link.',
      schema: linkSchema,
      headers: putHeaders,
    },
    201: { description: 'The new link.', schema: linkSchema, headers: putHeaders },
  },
  problems: [401, 403, 404, staleProblem, 422, 502],
});

export const deleteLink = operation({
  id: 'deleteLink',
  ...issueOperation,
  method: 'DELETE',
  path: `${path}:link_id/`,
  summary: 'Delete a link of an issue',
  params: issueParams.extend({ link_id: uuid() }),
  headers: preconditionHeaders,
  responses: { 204: { description: 'Deleted.' } },
  problems: [401, 403, 404, staleProblem, 422],
});
