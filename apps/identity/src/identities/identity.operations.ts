import {
  createIdentitySchema,
  identityEmailParamsSchema,
  identityIdParamsSchema,
  identitySchema,
  ssoLookupQuerySchema,
  updateIdentitySchema,
} from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';

const common = { tags: ['Internal identity API'], security: ['serviceToken'] };
const theIdentity = { description: 'The identity.', schema: identitySchema };
const conflict = { status: 409, description: '`email_conflict` or `sso_conflict`; nothing was written.' };

export const identityOperations: ApiOperation[] = [
  {
    ...common,
    method: 'POST',
    path: '/internal/identities',
    operationId: 'createIdentity',
    summary: 'Create an identity',
    description:
      '`password` is required unless `sso_provider` and `sso_id` are given. `username` defaults to the local part of the e-mail.',
    body: { schema: createIdentitySchema },
    responses: {
      201: { ...theIdentity, headers: { Location: z.string().describe('The path of the new identity.') } },
    },
    problems: [403, conflict, 422],
  },
  {
    ...common,
    method: 'GET',
    path: '/internal/identities/:id',
    operationId: 'getIdentity',
    summary: 'Read an identity by its id',
    params: identityIdParamsSchema,
    responses: { 200: theIdentity },
    problems: [403, 404, 422],
  },
  {
    ...common,
    method: 'GET',
    path: '/internal/identities/by-email/:email',
    operationId: 'findIdentityByEmail',
    summary: 'Find an identity by its e-mail, in any case',
    params: identityEmailParamsSchema,
    responses: { 200: theIdentity },
    problems: [403, 404, 422],
  },
  {
    ...common,
    method: 'GET',
    path: '/internal/identities/by-sso/lookup',
    operationId: 'findIdentityBySso',
    summary: 'Find an identity by its SSO provider and id, compared exactly',
    query: ssoLookupQuerySchema,
    responses: { 200: theIdentity },
    problems: [403, 404, 422],
  },
  {
    ...common,
    method: 'PUT',
    path: '/internal/identities/:id',
    operationId: 'updateIdentity',
    summary: 'Change what is supplied of an identity',
    description:
      'Fields that are absent stay as they are. `sso_provider` and `sso_id` as null unlink. A new password and `is_active: false` end every session.',
    params: identityIdParamsSchema,
    body: { schema: updateIdentitySchema },
    responses: { 200: theIdentity },
    problems: [403, 404, conflict, 422],
  },
  {
    ...common,
    method: 'DELETE',
    path: '/internal/identities/:id',
    operationId: 'deleteIdentity',
    summary: 'Soft-delete an identity',
    description:
      'The record stays, inactive and invisible to every look-up; its sessions end, and its e-mail may be used again.',
    params: identityIdParamsSchema,
    responses: { 204: { description: 'Deleted.' } },
    problems: [403, 404, 422],
  },
];
