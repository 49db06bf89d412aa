import { z } from 'zod';
import { createIdentitySchema, identityMirrorFieldsSchema, updateIdentitySchema } from './identity.ts';
import { pageQuerySchema } from './page.ts';
import { singleLineText, uuid } from './text.ts';

/** A person as everybody may see them. */
export const userSchema = z
  .object({ id: uuid(), username: z.string() })
  .meta({ id: 'User', description: 'For everybody: who somebody is.' });
export type User = z.infer<typeof userSchema>;

/** A person as staff, and the person, may see them: the fields of the mirror. */
export const fullUserSchema = identityMirrorFieldsSchema.meta({
  id: 'FullUser',
  description: 'For staff and for oneself.',
});
export type FullUser = z.infer<typeof fullUserSchema>;

/** POST and PUT /api/v1/users/: what identity itself takes. */
export const createUserSchema = createIdentitySchema;
export const updateUserSchema = updateIdentitySchema;

export const userParamsSchema = z.object({ id: uuid() });

/** GET /api/v1/users/ */
export const userListQuerySchema = pageQuerySchema.extend({
  search: singleLineText()
    .trim()
    .min(1)
    .max(150)
    .optional()
    .describe('The beginning of a username; for staff also of an e-mail.'),
  is_active: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional(),
});
export type UserListQuery = z.output<typeof userListQuerySchema>;
