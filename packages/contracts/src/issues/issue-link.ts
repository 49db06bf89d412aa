import { z } from 'zod';
import { emailMaxLength, ssoIdSchema, ssoProviderSchema } from '../identity/identity.ts';
import { operation } from '../operation.ts';
import { isStorableText, singleLineText, uuid } from '../text.ts';
import {
  etagHeader,
  issueOperation,
  issueParams,
  issuesPath,
  preconditionHeaders,
} from './issue-operation.ts';

/** What an issue may be linked to (issue-tracking.md 2.3). */
export const linkTypes = ['helpdesk_ticket', 'entity', 'invoice', 'user', 'external_issue'] as const;
export const linkTypeSchema = z.enum(linkTypes);
export type LinkType = z.infer<typeof linkTypeSchema>;

export const linkRelations = ['relates_to', 'caused_by', 'blocks', 'duplicates'] as const;
export const linkRelationSchema = z.enum(linkRelations);
export type LinkRelation = z.infer<typeof linkRelationSchema>;

/** Links of one issue, at most. */
export const linksMax = 50;
export const linkRefMaxLength = 255;
/** Bound of a link's metadata as JSON text, in characters. */
export const linkMetadataMaxLength = 4096;
const linkMetadataMaxDepth = 8;

const refText = singleLineText()
  .trim()
  .min(1, { error: 'must not be empty' })
  .max(linkRefMaxLength, { error: `must be at most ${linkRefMaxLength} characters` });

/** An e-mail to look somebody up by: text that nobody has is simply unknown. */
const lookupEmail = singleLineText()
  .trim()
  .max(emailMaxLength, { error: `must be at most ${emailMaxLength} characters` })
  .includes('@', { error: 'must be an e-mail address' });

const personText = z.union([
  uuid().transform((id) => ({ id })),
  lookupEmail.transform((email) => ({ email })),
]);

/** How a person is named in a request. */
export type PersonInput = { id: string } | { email: string } | { sso_provider: string; sso_id: string };

const httpUrl = singleLineText()
  .max(2048, { error: 'must be at most 2048 characters' })
  .refine((value) => /^https?:\/\//i.test(value) && URL.canParse(value), { error: 'must be an http(s) URL' });

const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => isStorableJson(value, 0), {
    error: `must be storable text at most ${linkMetadataMaxDepth} levels deep`,
  })
  // The order of checks matters: what is too deep must not be serialised.
  .refine((value) => !isStorableJson(value, 0) || JSON.stringify(value).length <= linkMetadataMaxLength, {
    error: `must be at most ${linkMetadataMaxLength} characters as JSON`,
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
      'The immutable id in the other system. For a user: a UUID, an e-mail, or an object with `id`, `email`, or `sso_provider` and `sso_id`; stored as the UUID.',
    ),
  title: singleLineText().max(255, { error: 'must be at most 255 characters' }).nullish(),
  url: httpUrl.nullish().describe('http or https; never fetched.'),
  relation: linkRelationSchema.default('relates_to'),
  metadata: metadata.nullish(),
};

/** One link in a request. The members that the service adds to its answer are accepted and ignored. */
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

/** A link as answered. */
export const linkSchema = z
  .object({
    id: uuid(),
    type: linkTypeSchema,
    ref: z.string(),
    title: z.string().nullable(),
    url: z.string().nullable(),
    relation: linkRelationSchema,
    metadata: z.record(z.string(), z.unknown()).nullable(),
    created_by: uuid().describe('The identity that made the link.'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Link' });
export type Link = z.infer<typeof linkSchema>;

const path = `${issuesPath}/:id/links/`;
const staleProblem = { status: 412, description: 'The issue is not any more what `If-Match` names.' };

export const putLink = operation({
  id: 'putLink',
  ...issueOperation,
  method: 'POST',
  path,
  summary: 'Link an issue to something',
  description:
    'What is linked already, by type and ref, is updated. At most 50 on one issue. `external_issue` is for staff. Nothing is ever fetched.',
  params: issueParams,
  headers: preconditionHeaders,
  body: { schema: linkInputSchema },
  responses: {
    200: {
      description: 'The link was there; it has these details now.',
      schema: linkSchema,
      headers: etagHeader,
    },
    201: { description: 'The new link.', schema: linkSchema, headers: etagHeader },
  },
  problems: [401, 403, 404, staleProblem, 422, 502],
});

export const deleteLink = operation({
  id: 'deleteLink',
  ...issueOperation,
  method: 'DELETE',
  path: `${path}:link_id/`,
  summary: 'Take a link from an issue',
  params: issueParams.extend({ link_id: uuid() }),
  headers: preconditionHeaders,
  responses: { 204: { description: 'Gone.' } },
  problems: [401, 403, 404, staleProblem, 422],
});
