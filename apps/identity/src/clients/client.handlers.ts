import {
  type createClient,
  type disableClient,
  type getClient,
  type listClients,
  pageSizeDefault,
  type rotateClientSecret,
  type updateClient,
  uuid,
} from '@tessera/contracts';
import { type Handler, originOf, readKeysetPage } from '@tessera/service-kit';
import { presentClient, readClientSettings } from './client.presenter.ts';
import type { ClientService } from './client.service.ts';

/** The internal API of clients. */
export function clientHandlers(clients: ClientService) {
  const create: Handler<typeof createClient> = async ({ body: { kind, ...given }, request }) => {
    const settings = { ...readClientSettings(given), name: given.name, kind };
    const { client, secret } = await clients.create(settings, originOf(request));
    return {
      status: 201,
      headers: { Location: `/internal/clients/${client.id}` },
      body: { ...presentClient(client), ...(secret === undefined ? {} : { client_secret: secret }) },
    };
  };

  const list: Handler<typeof listClients> = async ({ query, request }) => {
    const page = readKeysetPage(query, {
      url: request.url ?? '/',
      place: uuid(),
      sizeDefault: pageSizeDefault,
    });
    return page.present(await clients.list(page), { item: presentClient, place: ({ id }) => id });
  };

  const get: Handler<typeof getClient> = async ({ params }) => ({
    status: 200,
    body: presentClient(await clients.find(params.client_id)),
  });

  const update: Handler<typeof updateClient> = async ({ params, body, request }) => ({
    status: 200,
    body: presentClient(await clients.update(params.client_id, readClientSettings(body), originOf(request))),
  });

  const rotate: Handler<typeof rotateClientSecret> = async ({ params, request }) => {
    const { secret, previousUntil } = await clients.rotateSecret(params.client_id, originOf(request));
    return {
      status: 200,
      body: { client_secret: secret, previous_valid_until: previousUntil?.toISOString() ?? null },
    };
  };

  const disable: Handler<typeof disableClient> = async ({ params, request }) => {
    await clients.disable(params.client_id, originOf(request));
    return { status: 204 };
  };

  return { create, list, get, update, rotate, disable };
}
