import {
  type ClientDetails,
  clientSchema,
  clientSecretSchema,
  type createAppClient,
  createdClientSchema,
  type disableAppClient,
  type listAppClients,
  type rotateAppClientSecret,
} from '@tessera/contracts';
import { type Handler, ProblemError, validationProblem } from '@tessera/service-kit';
import { z } from 'zod';
import { identityAnswerInvalid } from '../identity-mirror/identity-problem.ts';
import type { IdentityReply, IdentityTransport } from '../identity-mirror/identity-transport.ts';
import type { Actor } from '../issue-core/actor.ts';

const listMax = 100;
const refusalSchema = z.object({
  code: z.enum(['client_not_found', 'client_disabled', 'client_without_secret', 'validation_failed']),
  detail: z.string().max(1000),
  errors: z
    .array(z.object({ field: z.string(), message: z.string() }))
    .max(50)
    .optional(),
});

/** Handlers of the page of clients, by identity's internal API. */
export function clientAdministration(transport: IdentityTransport) {
  const find = async (client_id: string, requestId: string): Promise<ClientDetails> =>
    contentOf(await transport.send('getClient', { params: { client_id }, requestId }), clientSchema);

  const list: Handler<typeof listAppClients, Actor> = async ({ requestId }) => {
    const call = { query: { limit: listMax }, isList: true, requestId };
    return {
      status: 200,
      body: { clients: contentOf(await transport.send('listClients', call), z.array(clientSchema)) },
    };
  };

  const create: Handler<typeof createAppClient, Actor> = async ({ actor, body, requestId }) => {
    assertMayGrant(actor, body.audiences);
    const reply = await transport.send('createClient', { body, requestId });
    return { status: 201, body: contentOf(reply, createdClientSchema, 201) };
  };

  const rotate: Handler<typeof rotateAppClientSecret, Actor> = async ({ actor, params, requestId }) => {
    assertMayGrant(actor, (await find(params.client_id, requestId)).audiences);
    const reply = await transport.send('rotateClientSecret', { params, requestId });
    return { status: 200, body: contentOf(reply, clientSecretSchema) };
  };

  const disable: Handler<typeof disableAppClient, Actor> = async ({ actor, params, requestId }) => {
    assertMayGrant(actor, (await find(params.client_id, requestId)).audiences);
    const reply = await transport.send('disableClient', { params, requestId });
    if (reply.status !== 204) contentOf(reply, z.never());
    return { status: 204 };
  };

  return { list, create, rotate, disable };
}

/** A token of such a client has all rights of the person who signs in, so staff would gain those of a superuser. */
function assertMayGrant({ isSuperuser }: Actor, audiences: readonly string[] = []): void {
  if (isSuperuser || audiences.length === 0) return;
  throw new ProblemError({
    status: 403,
    code: 'forbidden',
    detail: 'Only a superuser may administer an application whose tokens other services accept.',
  });
}

function contentOf<Schema extends z.ZodType>(
  { status, data }: IdentityReply,
  schema: Schema,
  expected = 200,
): z.output<Schema> {
  const parsed = status === expected ? schema.safeParse(data) : undefined;
  if (parsed?.success) return parsed.data;
  const refusal = refusalSchema.safeParse(data).data;
  if (refusal === undefined || status < 400) throw identityAnswerInvalid(`responded ${status}`);
  const { code, detail, errors = [] } = refusal;
  if (code === 'validation_failed')
    throw validationProblem(errors.length > 0 ? errors : [{ field: 'body', message: detail }]);
  throw new ProblemError({ status, code, detail });
}
