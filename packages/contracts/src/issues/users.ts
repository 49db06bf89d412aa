import { z } from 'zod';
import {
  createIdentitySchema,
  identityMirrorFieldsSchema,
  updateIdentitySchema,
} from '../identity/identity.ts';
import { nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.ts';
import { singleLineText, uuid } from '../text.ts';

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

const common = { tags: ['Users'], security: ['accessToken'] };
const fullUser = { description: 'The user.', schema: fullUserSchema };
const identityProblems = [
  { status: 502, description: '`identity_credentials_rejected` or `identity_answer_invalid`.' },
  { status: 503, description: '`identity_unavailable`, or the database is down.' },
];
const conflict = { status: 409, description: '`email_conflict` or `sso_conflict`; nothing was written.' };

export const listUsers = operation({
  id: 'listUsers',
  ...common,
  method: 'GET',
  path: '/api/v1/users/',
  summary: 'List users, for picking an assignee',
  description: 'Everybody sees id and username; staff see all fields.',
  query: userListQuerySchema,
  responses: {
    200: {
      description: 'Users, by id.',
      schema: z.array(z.union([fullUserSchema, userSchema])),
      headers: nextLinkHeader,
    },
  },
  problems: [401, 403, 422],
});

export const getMe = operation({
  id: 'getMe',
  ...common,
  method: 'GET',
  path: '/api/v1/users/me/',
  summary: 'Who I am',
  responses: { 200: fullUser },
  problems: [401, 403],
});

export const getUser = operation({
  id: 'getUser',
  ...common,
  method: 'GET',
  path: '/api/v1/users/:id/',
  summary: 'Read a user',
  params: userParamsSchema,
  description: 'From the mirror; whom it has not met yet, staff have looked up at identity.',
  responses: { 200: { description: 'The user.', schema: z.union([fullUserSchema, userSchema]) } },
  problems: [401, 403, 404, 422, ...identityProblems],
});

export const createUser = operation({
  id: 'createUser',
  ...common,
  method: 'POST',
  path: '/api/v1/users/',
  summary: 'Create a user at identity',
  description:
    'For staff; `is_staff` and `is_superuser` for superusers. 503 `create_outcome_unknown`: the answer of identity was lost, and the user may exist; trying again is safe.',
  body: { schema: createUserSchema },
  responses: { 201: { ...fullUser, headers: { Location: z.string().describe('The new user.') } } },
  problems: [401, 403, conflict, 422, ...identityProblems],
});

const update = {
  ...common,
  path: '/api/v1/users/:id/',
  summary: 'Change what is supplied of a user, at identity',
  description: 'For staff; staff and superusers themselves are changed by superusers alone.',
  params: userParamsSchema,
  body: { schema: updateUserSchema },
  responses: { 200: fullUser },
  problems: [401, 403, 404, conflict, 422, ...identityProblems],
} as const;

export const updateUser = operation({ ...update, id: 'updateUser', method: 'PUT' });

export const patchUser = operation({ ...update, id: 'patchUser', method: 'PATCH' });

export const deactivateUser = operation({
  ...common,
  id: 'deactivateUser',
  method: 'DELETE',
  path: '/api/v1/users/:id/',
  summary: 'Soft-delete a user at identity',
  params: userParamsSchema,
  responses: { 204: { description: 'The user cannot sign in any more, and is refused here at once.' } },
  problems: [401, 403, 404, 422, ...identityProblems],
});
