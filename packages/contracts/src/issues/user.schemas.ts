import { z } from 'zod';
import { emailSchema } from '../identity/email.schemas.ts';
import {
  displayNameSchema,
  identityMirrorFieldsSchema,
  withNewCredentials,
  withSsoPair,
  writableIdentityMembers,
} from '../identity/identity.schemas.ts';
import { pageQuerySchema } from '../page.schemas.ts';
import { flag, once, uuids } from '../query-value.schemas.ts';
import { singleLineText, uuid } from '../text.schemas.ts';

/** The fields of a user that every user may see. */
export const userSchema = z
  .object({ id: uuid(), username: z.string(), name: z.string().optional().describe('Absent without one.') })
  .meta({ id: 'User', description: 'A user, with the fields that every user may see.' });
export type User = z.infer<typeof userSchema>;

/** The fields of a user that staff and the user may see: the fields of the mirror. */
export const fullUserSchema = identityMirrorFieldsSchema
  .extend({ name: z.string().nullable().describe('The display name; null without one.') })
  .meta({ id: 'FullUser', description: 'A user, with the fields that staff and the user may see.' });
export type FullUser = z.infer<typeof fullUserSchema>;

export const displayNameInput = displayNameSchema.nullable().describe('The display name; null removes it.');

/** POST and PUT /api/v1/users/: the input of the identity service, with `name` for `display_name`. */
export const createUserSchema = withNewCredentials(
  z.strictObject({ email: emailSchema, name: displayNameInput.optional(), ...writableIdentityMembers }),
).meta({ id: 'CreateUser' });
export type CreateUser = z.output<typeof createUserSchema>;
export const updateUserSchema = withSsoPair(
  z.strictObject({
    email: emailSchema.optional(),
    name: displayNameInput.optional(),
    ...writableIdentityMembers,
  }),
).meta({ id: 'UpdateUser' });
export type UpdateUser = z.output<typeof updateUserSchema>;

export const userParamsSchema = z.object({ id: uuid() });

export const userIdsMax = 100;

/** GET /api/v1/users/ */
export const userListQuerySchema = pageQuerySchema.extend({
  search: singleLineText()
    .trim()
    .min(1)
    .max(150)
    .optional()
    .describe(
      'Words, each the beginning of a word of the username or the name; for staff also of the e-mail address.',
    ),
  is_active: flag.optional(),
  ids: uuids(userIdsMax).optional().describe(`At most ${userIdsMax} ids, separated by commas.`),
  issue: once
    .max(50)
    .optional()
    .describe(
      'The id, key or number of an issue, whose people come first: reporter, assignee, commenters, linked users.',
    ),
  can_read: once
    .max(50)
    .optional()
    .describe(
      'The id, key or number of an issue: only people who may read it, as also a person must who is assigned by another one than a member or staff. None if you may not.',
    ),
});
export type UserListQuery = z.output<typeof userListQuerySchema>;
