import { z } from 'zod';
import {
  clientIdParamsSchema,
  clientSchema,
  clientSecretSchema,
  createClientSchema,
  createdClientSchema,
} from '../identity/client.schemas.ts';
import { type Operation, operation } from '../operation.ts';

// The operations of the web app's page of clients. Like those of its session, they are not part of the API document.

const tags = ['Clients'];

export const listAppClients = operation({
  id: 'listAppClients',
  method: 'GET',
  path: '/app/clients',
  summary: 'List the applications that sign people in',
  tags,
  responses: {
    200: { description: 'At most 100.', schema: z.object({ clients: z.array(clientSchema) }) },
  },
});

export const createAppClient = operation({
  id: 'createAppClient',
  method: 'POST',
  path: '/app/clients',
  summary: 'Register an application',
  tags,
  body: {
    schema: createClientSchema.pick({
      name: true,
      kind: true,
      redirect_uris: true,
      post_logout_redirect_uris: true,
      audiences: true,
    }),
  },
  responses: { 201: { description: 'Registered.', schema: createdClientSchema } },
});

export const rotateAppClientSecret = operation({
  id: 'rotateAppClientSecret',
  method: 'POST',
  path: '/app/clients/:client_id/rotate-secret',
  summary: 'Make a new secret',
  tags,
  params: clientIdParamsSchema,
  responses: { 200: { description: 'The secret, this once.', schema: clientSecretSchema } },
});

export const disableAppClient = operation({
  id: 'disableAppClient',
  method: 'DELETE',
  path: '/app/clients/:client_id',
  summary: 'Disable an application for good',
  tags,
  params: clientIdParamsSchema,
  responses: { 204: { description: 'Disabled.' } },
});

/** The operations of the web app's page of clients. */
export const appClientOperations = [
  listAppClients,
  createAppClient,
  rotateAppClientSecret,
  disableAppClient,
] as const satisfies readonly Operation[];
