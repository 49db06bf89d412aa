import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import {
  changePasswordBody,
  createIdentitySchema,
  identityEmailParamsSchema,
  identityIdParamsSchema,
  identityListQuerySchema,
  identityNotFound,
  identitySchema,
  passwordRefused,
  serviceTokenRefused,
  ssoLookupQuerySchema,
  updateIdentitySchema,
} from './identity.schemas.ts';

const common = { tags: ['Internal identity API'], security: ['serviceToken'] };
const identityResponse = { description: 'The identity.', schema: identitySchema };
const conflict = {
  status: 409,
  codes: ['email_conflict', 'sso_conflict'],
  description: '`email_conflict` or `sso_conflict`; nothing was changed.',
} as const;

export const createIdentity = operation({
  id: 'createIdentity',
  ...common,
  method: 'POST',
  path: '/internal/identities',
  summary: 'Create an identity',
  description:
    '`password` is required unless `sso_provider` and `sso_id` are given. `username` defaults to the local part of the e-mail address, with a number if another identity has that username: `bob`, `bob-2`.',
  body: {
    schema: createIdentitySchema,
    example: { email: 'bob@example.com', password: 'paper boat in the harbour' },
  },
  responses: {
    201: { ...identityResponse, headers: { Location: z.string().describe('The path of the new identity.') } },
  },
  problems: [serviceTokenRefused, conflict, 422],
});

export const listIdentities = operation({
  id: 'listIdentities',
  ...common,
  method: 'GET',
  path: '/internal/identities',
  summary: 'List all identities, ordered by id',
  description:
    'For mirrors: ids increase with the time of creation, so a consumer that continues after the last id gets new identities. One that was created moments ago may appear after one with a greater id. Deleted identities are not listed.',
  query: identityListQuerySchema,
  responses: {
    200: { description: 'A page of identities.', schema: z.array(identitySchema), headers: nextLinkHeader },
  },
  problems: [serviceTokenRefused, 422],
});

export const getIdentity = operation({
  id: 'getIdentity',
  ...common,
  method: 'GET',
  path: '/internal/identities/:id',
  summary: 'Read an identity by its id',
  description: 'Deleted identities are not found.',
  params: identityIdParamsSchema,
  responses: { 200: identityResponse },
  problems: [serviceTokenRefused, identityNotFound, 422],
});

export const findIdentityByEmail = operation({
  id: 'findIdentityByEmail',
  ...common,
  method: 'GET',
  path: '/internal/identities/by-email/:email',
  summary: 'Find an identity by its e-mail address, ignoring case',
  description: 'Deleted identities are not found.',
  params: identityEmailParamsSchema,
  responses: { 200: identityResponse },
  problems: [serviceTokenRefused, identityNotFound, 422],
});

export const findIdentityBySso = operation({
  id: 'findIdentityBySso',
  ...common,
  method: 'GET',
  path: '/internal/identities/by-sso/lookup',
  summary: 'Find an identity by its exact SSO provider and id',
  description: 'Deleted identities are not found.',
  query: ssoLookupQuerySchema,
  responses: { 200: identityResponse },
  problems: [serviceTokenRefused, identityNotFound, 422],
});

export const updateIdentity = operation({
  id: 'updateIdentity',
  ...common,
  method: 'PUT',
  path: '/internal/identities/:id',
  summary: 'Update given members of an identity',
  description:
    'Only given members change. Null for `sso_provider` and `sso_id` unlinks the SSO identity. A new password and `is_active: false` end all sessions.',
  params: identityIdParamsSchema,
  body: {
    schema: updateIdentitySchema,
    example: { display_name: 'Bob Ross', sso_provider: 'google', sso_id: '108437612' },
  },
  responses: { 200: identityResponse },
  problems: [serviceTokenRefused, identityNotFound, conflict, 422],
});

export const changeIdentityPassword = operation({
  id: 'changeIdentityPassword',
  ...common,
  method: 'POST',
  path: '/internal/identities/:id/password',
  summary: 'Change the password for a person who knows the current one',
  description:
    'All sessions end, also the one of the person: sign in again with the new password. Failed attempts are limited.',
  params: identityIdParamsSchema,
  body: changePasswordBody,
  responses: { 204: { description: 'Changed.' } },
  problems: [
    serviceTokenRefused,
    identityNotFound,
    passwordRefused,
    {
      status: 429,
      codes: ['too_many_requests'],
      description: 'Too many attempts with a wrong password (`too_many_requests`).',
    },
  ],
});

export const deleteIdentity = operation({
  id: 'deleteIdentity',
  ...common,
  method: 'DELETE',
  path: '/internal/identities/:id',
  summary: 'Soft-delete an identity',
  description:
    'The record is kept, inactive and invisible to lookups. Its sessions end, and its e-mail address may be used again.',
  params: identityIdParamsSchema,
  responses: { 204: { description: 'Deleted.' } },
  problems: [serviceTokenRefused, identityNotFound, 422],
});
