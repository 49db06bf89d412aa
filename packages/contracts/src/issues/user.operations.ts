import { z } from 'zod';
import { changePasswordBody, passwordRefused } from '../identity/identity.schemas.ts';
import { nextLinkHeader, operation } from '../operation.ts';
import { unverifiedProblem } from './operation-parts.schemas.ts';
import {
  createUserSchema,
  displayNameInput,
  fullUserSchema,
  updateUserSchema,
  userListQuerySchema,
  userParamsSchema,
  userSchema,
} from './user.schemas.ts';

const common = { tags: ['Users'], security: ['accessToken'] };
const fullUser = { description: 'The user.', schema: fullUserSchema };
const userNotFound = { status: 404, codes: ['user_not_found'] } as const;
const answerInvalid = {
  status: 502,
  codes: ['identity_credentials_rejected', 'identity_answer_invalid'],
  description: '`identity_credentials_rejected` or `identity_answer_invalid`.',
} as const;
const identityProblems = [
  answerInvalid,
  {
    status: 503,
    codes: ['identity_unavailable'],
    description: '`identity_unavailable`, or the database is unavailable.',
  },
] as const;
const conflict = {
  status: 409,
  codes: ['email_conflict', 'sso_conflict', 'identity_conflict'],
  description: '`email_conflict` or `sso_conflict`; nothing was changed.',
} as const;

export const listUsers = operation({
  id: 'listUsers',
  ...common,
  method: 'GET',
  path: '/api/v1/users/',
  summary: 'List users',
  description:
    'For choosing an assignee. Has all people of the identity service, also those who never used this one. Staff see all fields, other users the id and the names.',
  query: userListQuerySchema,
  responses: {
    200: {
      description:
        'A page of users, ordered by id; with `search` or `issue`: the people of the issue, then those who were here last, then by name. If more than 800 people match, those far down the list may be missing.',
      schema: z.array(z.union([fullUserSchema, userSchema])),
      headers: nextLinkHeader,
    },
  },
  problems: [401, unverifiedProblem, 422],
});

export const getMe = operation({
  id: 'getMe',
  ...common,
  method: 'GET',
  path: '/api/v1/users/me/',
  summary: 'Read the calling user',
  description: 'All fields of the caller in the mirror.',
  responses: { 200: fullUser },
  problems: [401, unverifiedProblem, userNotFound],
});

export const updateMe = operation({
  id: 'updateMe',
  ...common,
  method: 'PATCH',
  path: '/api/v1/users/me/',
  summary: 'Change the display name of the calling user',
  description: 'Other fields of a user are changed by staff.',
  body: {
    schema: z.strictObject({ name: displayNameInput }).meta({ id: 'UpdateMe' }),
    example: { name: 'Ann Lee' },
  },
  responses: { 200: fullUser },
  problems: [401, unverifiedProblem, userNotFound, 422, ...identityProblems],
});

export const changeMyPassword = operation({
  id: 'changeMyPassword',
  ...common,
  method: 'POST',
  path: '/api/v1/users/me/password/',
  summary: 'Change the password of the calling user',
  description:
    'All sessions of the user end: no refresh token is accepted any more, also not that of the caller. Access tokens, also that of the caller, are refused within 5 seconds. Sign in again with the new password. After a 503 the change may have taken effect.',
  body: changePasswordBody,
  responses: { 204: { description: 'Changed.' } },
  problems: [401, unverifiedProblem, userNotFound, passwordRefused, 429, ...identityProblems],
});

export const getUser = operation({
  id: 'getUser',
  ...common,
  method: 'GET',
  path: '/api/v1/users/:id/',
  summary: 'Read a user',
  params: userParamsSchema,
  description: 'Reads the mirror; for staff, an unknown user is read from the identity service.',
  responses: { 200: { description: 'The user.', schema: z.union([fullUserSchema, userSchema]) } },
  problems: [401, unverifiedProblem, userNotFound, 422, ...identityProblems],
});

export const createUser = operation({
  id: 'createUser',
  ...common,
  method: 'POST',
  path: '/api/v1/users/',
  summary: 'Create a user in the identity service',
  description:
    'For staff; only superusers may set `is_staff` and `is_superuser`. 503 `create_outcome_unknown`: the response of the identity service was lost, and the user may exist; a retry is safe.',
  body: {
    schema: createUserSchema,
    example: { email: 'bob@example.com', password: 'paper boat in the harbour' },
  },
  responses: { 201: { ...fullUser, headers: { Location: z.string().describe('The URL of the new user.') } } },
  problems: [
    401,
    403,
    conflict,
    422,
    answerInvalid,
    {
      status: 503,
      codes: ['identity_unavailable', 'create_outcome_unknown'],
      description: '`identity_unavailable`, `create_outcome_unknown`, or the database is unavailable.',
    },
  ],
});

const update = {
  ...common,
  path: '/api/v1/users/:id/',
  summary: 'Update a user in the identity service',
  description: 'For staff; only superusers may change staff and superusers.',
  params: userParamsSchema,
  body: { schema: updateUserSchema, example: { name: 'Bob Ross' } },
  responses: { 200: fullUser },
  problems: [401, 403, userNotFound, conflict, 422, ...identityProblems],
} as const;

export const updateUser = operation({ ...update, id: 'updateUser', method: 'PUT' });

export const patchUser = operation({ ...update, id: 'patchUser', method: 'PATCH' });

export const deactivateUser = operation({
  ...common,
  id: 'deactivateUser',
  method: 'DELETE',
  path: '/api/v1/users/:id/',
  summary: 'Soft-delete a user in the identity service',
  description: 'For staff. The issues of the user are not changed.',
  params: userParamsSchema,
  responses: {
    204: {
      description:
        'Deleted. The user can no longer sign in. Its access tokens are refused at once by the replica that answers, within five seconds by others.',
    },
  },
  problems: [401, 403, userNotFound, 422, ...identityProblems],
});
