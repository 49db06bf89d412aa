import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { pageQuerySchema } from '../page.schemas.ts';
import {
  clientIdParamsSchema,
  clientNotFound,
  clientSchema,
  clientSecretSchema,
  createClientSchema,
  createdClientSchema,
  updateClientSchema,
} from './client.schemas.ts';
import { serviceTokenRefused } from './identity.schemas.ts';

const common = { tags: ['Clients'], security: ['serviceToken'] };
const clientResponse = { description: 'The client.', schema: clientSchema };
const notFound = [serviceTokenRefused, clientNotFound, 422] as const;

export const createClient = operation({
  id: 'createClient',
  ...common,
  method: 'POST',
  path: '/internal/clients',
  summary: 'Register an application',
  description:
    'Only `name` and `kind` are required, and `redirect_uris` for an application that signs people in. The response has the secret of a confidential client or a machine without `jwks`; no other response has it.',
  body: {
    schema: createClientSchema,
    example: { name: 'Wiki', kind: 'confidential', redirect_uris: ['https://wiki.example.com/callback'] },
  },
  responses: {
    201: {
      description: 'The client, with its secret.',
      schema: createdClientSchema,
      headers: { Location: z.string().describe('The path of the new client.') },
    },
  },
  problems: [serviceTokenRefused, 422],
});

export const listClients = operation({
  id: 'listClients',
  ...common,
  method: 'GET',
  path: '/internal/clients',
  summary: 'List all clients, ordered by id',
  description: 'Ids increase with the time of creation. Disabled clients are listed, too.',
  query: pageQuerySchema,
  responses: {
    200: { description: 'A page of clients.', schema: z.array(clientSchema), headers: nextLinkHeader },
  },
  problems: [serviceTokenRefused, 422],
});

export const getClient = operation({
  id: 'getClient',
  ...common,
  method: 'GET',
  path: '/internal/clients/:client_id',
  summary: 'Read a client',
  description: '`last_refusal` explains the last redirect URI that was refused.',
  params: clientIdParamsSchema,
  responses: { 200: clientResponse },
  problems: notFound,
});

const disabled = {
  status: 409,
  codes: ['client_disabled'],
  description: 'The client is disabled for good (`client_disabled`).',
} as const;

export const updateClient = operation({
  id: 'updateClient',
  ...common,
  method: 'PATCH',
  path: '/internal/clients/:client_id',
  summary: 'Change a client',
  description: 'Only given members change. The kind of a client never changes.',
  params: clientIdParamsSchema,
  body: {
    schema: updateClientSchema,
    example: { redirect_uris: ['https://wiki.example.com/callback'], audiences: ['tessera'] },
  },
  responses: { 200: clientResponse },
  problems: [...notFound, disabled],
});

export const rotateClientSecret = operation({
  id: 'rotateClientSecret',
  ...common,
  method: 'POST',
  path: '/internal/clients/:client_id/rotate-secret',
  summary: 'Make a new secret',
  description:
    'The present secret stays valid until `previous_valid_until`; an older one becomes invalid at once.',
  params: clientIdParamsSchema,
  responses: {
    200: { description: 'The new secret. No other response has it.', schema: clientSecretSchema },
  },
  problems: [
    ...notFound,
    {
      ...disabled,
      codes: ['client_disabled', 'client_without_secret'],
      description:
        'The client is disabled for good (`client_disabled`), or it is public (`client_without_secret`).',
    },
  ],
});

export const disableClient = operation({
  id: 'disableClient',
  ...common,
  method: 'DELETE',
  path: '/internal/clients/:client_id',
  summary: 'Disable a client for good',
  description:
    'It gets no more tokens, within 5 seconds also from other processes. Its access tokens stay valid until they expire.',
  params: clientIdParamsSchema,
  responses: { 204: { description: 'Disabled, now or before.' } },
  problems: notFound,
});
