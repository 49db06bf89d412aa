import { z } from 'zod';
import { lookupEmailSchema } from '../identity/email.schemas.ts';
import { ssoIdSchema, ssoProviderSchema } from '../identity/identity.schemas.ts';
import { isInOrder, isStorableText, isVisible, singleLineText, uuid } from '../text.schemas.ts';

/** Types of links (docs/spec/issue-tracking.md 2.3). */
export const linkTypes = ['helpdesk_ticket', 'entity', 'invoice', 'user', 'external_issue'] as const;
export const linkTypeSchema = z.enum(linkTypes);
export type LinkType = z.infer<typeof linkTypeSchema>;

export const linkRelations = ['relates_to', 'caused_by', 'blocks', 'duplicates'] as const;
export const linkRelationSchema = z.enum(linkRelations);
export type LinkRelation = z.infer<typeof linkRelationSchema>;

/** The links that also people add who may not change the issue. */
export const guestLinkTypes: readonly LinkType[] = ['helpdesk_ticket', 'entity', 'invoice'];

/** Maximum number of links of an issue. */
export const linksMax = 50;
/** With so many links, people who may not change the issue add no further ones. */
export const guestLinksMax = 30;
/** Maximum number of links that such a person adds to an issue. */
export const guestLinksOfOneMax = 10;
export const linkRefMaxLength = 255;
/** Maximum size of a link's metadata as JSON text, in bytes of UTF-8. */
export const linkMetadataMaxBytes = 4096;
export const linkUrlMaxBytes = 2048;
const linkMetadataMaxDepth = 8;

const refText = singleLineText()
  .trim()
  .min(1, { error: 'must not be empty' })
  .max(linkRefMaxLength, { error: `must be at most ${linkRefMaxLength} characters` })
  .check(isVisible(), isInOrder());

const personText = z.union([
  uuid().transform((id) => ({ id })),
  lookupEmailSchema.transform((email) => ({ email })),
]);

/** A reference to a user in a request. */
export type PersonInput = { id: string } | { email: string } | { sso_provider: string; sso_id: string };

const encoder = new TextEncoder();

function jsonBytes(text: string): number {
  return encoder.encode(JSON.stringify(text)).length;
}

/** A URL that may be shown as a link: http or https. */
export const httpUrlSchema = singleLineText()
  .max(linkUrlMaxBytes, { error: `must be at most ${linkUrlMaxBytes} characters` })
  .refine((value) => jsonBytes(value) - 2 <= linkUrlMaxBytes, {
    error: `must be at most ${linkUrlMaxBytes} bytes`,
  })
  .refine((value) => /^https?:\/\//i.test(value) && URL.canParse(value), { error: 'must be an http(s) URL' });

const metadata = z.preprocess(
  (value, context) => {
    const message = metadataProblem(value, 0, { bytes: linkMetadataMaxBytes });
    if (message !== undefined) context.addIssue({ code: 'custom', message });
    return value;
  },
  z.record(z.string(), z.unknown()),
);

/**
 * Returns the reason why a JSON value is invalid as metadata; undefined if it is valid. Stops at the limit, so that a
 * large body costs no more than a small one. Counts numbers in PostgreSQL's notation without an exponent, in which
 * `5e-324` has 326 digits.
 */
function metadataProblem(value: unknown, depth: number, left: { bytes: number }): string | undefined {
  if (typeof value === 'string') {
    if (value.length <= left.bytes && !isStorableText(value)) return notStorable;
    left.bytes -= value.length <= left.bytes ? jsonBytes(value) : value.length;
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) return notFinite;
    left.bytes -= digitsOf(value);
  } else if (typeof value !== 'object' || value === null) left.bytes -= String(value).length;
  else if (depth >= linkMetadataMaxDepth) return notStorable;
  else {
    const isArray = Array.isArray(value);
    const members: readonly unknown[] = isArray ? value : Object.keys(value);
    if (Object.hasOwn(value, '__proto__')) return protoMember;
    if (members.length > left.bytes) return tooLarge;
    // Counts the brackets and commas.
    left.bytes -= members.length === 0 ? 2 : 1;
    for (const member of members) {
      left.bytes -= isArray ? 1 : 2;
      const problem = isArray
        ? metadataProblem(member, depth + 1, left)
        : (metadataProblem(member, depth, left) ??
          metadataProblem(Reflect.get(value, String(member)), depth + 1, left));
      if (problem !== undefined) return problem;
    }
  }
  return left.bytes < 0 ? tooLarge : undefined;
}

const tooLarge = `must be at most ${linkMetadataMaxBytes} bytes as JSON without exponents`;
const notFinite = 'must have numbers of at most 1.8e308';
const protoMember = 'must not have a member __proto__';
const notStorable = `must be storable text at most ${linkMetadataMaxDepth} levels deep`;

function digitsOf(value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e');
  return digits.length + Math.abs(Number(exponent));
}

const linkMembers = {
  ref: z
    .union(
      [
        refText,
        z.object({ id: uuid() }),
        z.object({ email: lookupEmailSchema }),
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
  title: singleLineText().max(255, { error: 'must be at most 255 characters' }).check(isInOrder()).nullish(),
  url: httpUrlSchema.nullish().describe('http or https; never fetched.'),
  relation: linkRelationSchema.default('relates_to'),
  metadata: metadata.nullish().describe('At most 4 KiB as JSON, with numbers written without an exponent.'),
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
