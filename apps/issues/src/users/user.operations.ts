import {
  createUserSchema,
  fullUserSchema,
  updateUserSchema,
  userListQuerySchema,
  userParamsSchema,
  userSchema,
} from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { nextLinkHeader } from '../issues/issue-operation.ts';

const common = { tags: ['Users'], security: ['accessToken'] };
const fullUser = { description: 'The user.', schema: fullUserSchema };
const identityProblems = [
  { status: 502, description: '`identity_credentials_rejected` or `identity_answer_invalid`.' },
  { status: 503, description: '`identity_unavailable`, or the database is down.' },
];
const conflict = { status: 409, description: '`email_conflict` or `sso_conflict`; nothing was written.' };

export const userOperations: ApiOperation[] = [
  {
    ...common,
    method: 'GET',
    path: '/api/v1/users/',
    operationId: 'listUsers',
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
  },
  {
    ...common,
    method: 'GET',
    path: '/api/v1/users/me/',
    operationId: 'getMe',
    summary: 'Who I am',
    responses: { 200: fullUser },
    problems: [401, 403],
  },
  {
    ...common,
    method: 'GET',
    path: '/api/v1/users/:id/',
    operationId: 'getUser',
    summary: 'Read a user',
    params: userParamsSchema,
    description: 'From the mirror; whom it has not met yet, staff have looked up at identity.',
    responses: { 200: { description: 'The user.', schema: z.union([fullUserSchema, userSchema]) } },
    problems: [401, 403, 404, 422, ...identityProblems],
  },
  {
    ...common,
    method: 'POST',
    path: '/api/v1/users/',
    operationId: 'createUser',
    summary: 'Create a user at identity',
    description:
      'For staff; `is_staff` and `is_superuser` for superusers. 503 `create_outcome_unknown`: the answer of identity was lost, and the user may exist; trying again is safe.',
    body: { schema: createUserSchema },
    responses: { 201: { ...fullUser, headers: { Location: z.string().describe('The new user.') } } },
    problems: [401, 403, conflict, 422, ...identityProblems],
  },
  ...(['PUT', 'PATCH'] as const).map(
    (method): ApiOperation => ({
      ...common,
      method,
      path: '/api/v1/users/:id/',
      operationId: method === 'PUT' ? 'updateUser' : 'patchUser',
      summary: 'Change what is supplied of a user, at identity',
      description: 'For staff; staff and superusers themselves are changed by superusers alone.',
      params: userParamsSchema,
      body: { schema: updateUserSchema },
      responses: { 200: fullUser },
      problems: [401, 403, 404, conflict, 422, ...identityProblems],
    }),
  ),
  {
    ...common,
    method: 'DELETE',
    path: '/api/v1/users/:id/',
    operationId: 'deactivateUser',
    summary: 'Soft-delete a user at identity',
    params: userParamsSchema,
    responses: { 204: { description: 'The user cannot sign in any more, and is refused here at once.' } },
    problems: [401, 403, 404, 422, ...identityProblems],
  },
];
