import { z } from 'zod';
import { pageQuerySchema } from '../page.schemas.ts';
import { once, uuids } from '../query-value.schemas.ts';
import { isVisibleName, secretText, singleLineText, trimName, uuid } from '../text.schemas.ts';
import { emailSchema } from './email.schemas.ts';

/** docs/spec/identity-service.md 2.1, with the limits of docs/identity/choices.md. */
export const usernameMaxLength = 150;
export const ssoIdMaxLength = 1024;
/** bcrypt ignores further bytes. */
export const passwordMaxBytes = 72;

/** In NFC, because people type the same name in different forms. */
export const usernameSchema = nameOf((name) => name.trim().normalize('NFC'));

export const displayNameSchema = nameOf(trimName).check(isVisibleName());

function nameOf(normalise: (name: string) => string) {
  return singleLineText()
    .overwrite(normalise)
    .min(1, { error: 'must not be empty' })
    .max(usernameMaxLength, { error: `must be at most ${usernameMaxLength} characters` });
}

/** Checks only the form. The permitted length depends on the service's configuration. */
export const passwordSchema = secretText();

export const ssoProviderSchema = singleLineText().min(1, { error: 'must not be empty' }).max(64);
/** Case-sensitive, as `sub` in OpenID Connect Core 2. A persistent id of SAML has qualifiers of up to 1,024 characters. */
export const ssoIdSchema = singleLineText().min(1, { error: 'must not be empty' }).max(ssoIdMaxLength);

const timestamp = z.iso.datetime().describe('ISO 8601, UTC.');

/** The nine fields of a consumer's mirror (docs/spec/identity-service.md 2.1). */
export const identityMirrorFieldsSchema = z.object({
  id: uuid(),
  email: z.string(),
  username: z.string(),
  sso_provider: z.string().nullable(),
  sso_id: z.string().nullable(),
  is_active: z.boolean(),
  is_verified: z.boolean(),
  is_staff: z.boolean(),
  is_superuser: z.boolean(),
});
export type IdentityMirrorFields = z.infer<typeof identityMirrorFieldsSchema>;

/** An identity in responses of the internal API, without password and hash. */
export const identitySchema = identityMirrorFieldsSchema
  .extend({
    display_name: z.string().nullable().describe('The name of the person; null if it is not known.'),
    deleted_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Identity' });
export type Identity = z.infer<typeof identitySchema>;

// Read-only members are accepted and ignored, so that clients can PUT a received representation.
const readOnlyMembers = {
  id: z.unknown().optional().meta({ description: 'Read-only: accepted and ignored.' }),
  deleted_at: z.unknown().optional().meta({ description: 'Read-only: accepted and ignored.' }),
  created_at: z.unknown().optional().meta({ description: 'Read-only: accepted and ignored.' }),
  updated_at: z.unknown().optional().meta({ description: 'Read-only: accepted and ignored.' }),
};

/**
 * The common members of create and update. `email` and the display name are excluded, because their names or rules
 * differ.
 */
export const writableIdentityMembers = {
  username: usernameSchema.optional(),
  password: passwordSchema.optional(),
  password_is_temporary: z
    .boolean()
    .optional()
    .describe(
      'True: `password` is only for the first sign-in, which must choose another one within 24 hours. Without `password`, it has no effect.',
    ),
  sso_provider: ssoProviderSchema.nullable().optional(),
  sso_id: ssoIdSchema.nullable().optional(),
  is_active: z.boolean().optional(),
  is_verified: z.boolean().optional(),
  is_staff: z.boolean().optional(),
  is_superuser: z.boolean().optional(),
  ...readOnlyMembers,
};

const identityMembers = {
  display_name: displayNameSchema.nullable().optional(),
  ...writableIdentityMembers,
};

interface Credentials {
  password?: string | undefined;
  sso_provider?: string | null | undefined;
  sso_id?: string | null | undefined;
}

const ssoPairRule = {
  error: 'sso_provider and sso_id are given together: both strings, or both null',
  path: ['sso_id'],
};

function isSsoPair(body: Credentials): boolean {
  const bothAbsent = body.sso_provider === undefined && body.sso_id === undefined;
  const bothNull = body.sso_provider === null && body.sso_id === null;
  return bothAbsent || bothNull || (typeof body.sso_provider === 'string' && typeof body.sso_id === 'string');
}

/** Adds the rules for the credentials of a new identity. */
export function withNewCredentials<Schema extends z.ZodType<Credentials>>(schema: Schema) {
  return withSsoPair(schema).refine(
    (body) => body.password !== undefined || typeof body.sso_id === 'string',
    { error: 'is required unless sso_provider and sso_id are given', path: ['password'] },
  );
}

/** Adds the rule for the two members of an SSO link. */
export function withSsoPair<Schema extends z.ZodType<Credentials>>(schema: Schema) {
  return schema.refine(isSsoPair, ssoPairRule);
}

/** POST /internal/identities */
export const createIdentitySchema = withNewCredentials(
  z.strictObject({ email: emailSchema, ...identityMembers }),
).meta({ id: 'CreateIdentity' });
export type CreateIdentity = z.infer<typeof createIdentitySchema>;

/** PUT /internal/identities/{id}: only given members change. Nulls unlink the SSO pair. */
export const updateIdentitySchema = withSsoPair(
  z.strictObject({ email: emailSchema.optional(), ...identityMembers }),
).meta({ id: 'UpdateIdentity' });
export type UpdateIdentity = z.infer<typeof updateIdentitySchema>;

export const identityIdParamsSchema = z.object({ id: uuid() });
/** Any text is accepted; text that is no e-mail address is not found. */
export const identityEmailParamsSchema = z.object({
  email: singleLineText()
    .min(1)
    .max(320)
    .meta({ param: { example: 'bob@example.com' } }),
});
export const ssoLookupQuerySchema = z.object({
  provider: once
    .pipe(singleLineText().min(1, { error: 'must not be empty' }).max(255))
    .meta({ param: { example: 'google' } }),
  sso_id: once.pipe(ssoIdSchema).meta({ param: { example: '108437612' } }),
});

/** The error of every operation with the service token. */
export const serviceTokenRefused = { status: 403, codes: ['service_token_refused'] } as const;
export const identityNotFound = { status: 404, codes: ['identity_not_found'] } as const;

/** Maximum number of ids of a request. A page can contain all of them. */
export const identityIdsMax = 100;

/** GET /internal/identities. Unknown parameters are refused. */
export const identityListQuerySchema = pageQuerySchema.extend({
  after: uuid()
    .optional()
    .describe('An id: only identities with a greater one. For consumers that continue later.'),
  ids: uuids(identityIdsMax)
    .optional()
    .describe(
      `At most ${identityIdsMax} ids, separated by commas, to read again the identities of events. With \`limit=${identityIdsMax}\`, an id that the page does not contain is unknown or deleted.`,
    ),
  search: singleLineText()
    .trim()
    .min(1)
    .max(150)
    .optional()
    .describe('Words, each the beginning of a word of the username, the display name or the e-mail address.'),
});

/** POST /internal/identities/{id}/password */
export const changePasswordSchema = z
  .strictObject({
    current_password: passwordSchema.min(1, { error: 'must not be empty' }).max(4096),
    new_password: passwordSchema,
  })
  .meta({ id: 'ChangePassword' });
export type ChangePassword = z.infer<typeof changePasswordSchema>;

/** The body of a password change, and its refusal, in both services. */
export const changePasswordBody = {
  schema: changePasswordSchema,
  example: { current_password: 'paper boat in the harbour', new_password: 'a lighthouse made of salt' },
};
export const passwordRefused = {
  status: 422,
  codes: ['validation_failed'],
  description: 'The current password is not the right one, or the new one is not accepted; see `errors`.',
} as const;
