import {
  type createIdentity,
  type deleteIdentity,
  type findIdentityByEmail,
  type findIdentityBySso,
  type getIdentity,
  type listIdentities,
  pageSizeDefault,
  type updateIdentity,
  uuid,
} from '@tessera/contracts';
import { abortSignalOf, type Handler, originOf, readKeysetPage } from '@tessera/service-kit';
import { presentIdentity, readIdentityChanges, readNewIdentity } from './identity.presenter.ts';
import type { IdentityService } from './identity.service.ts';

/** docs/spec/identity-service.md 4.2 */
export function identityHandlers(identities: IdentityService) {
  const create: Handler<typeof createIdentity> = async ({ body, request, response }) => {
    const created = await identities.create(
      readNewIdentity(body),
      originOf(request),
      abortSignalOf(response),
    );
    return {
      status: 201,
      headers: { Location: `/internal/identities/${created.id}` },
      body: presentIdentity(created),
    };
  };

  const list: Handler<typeof listIdentities> = async ({ query, request }) => {
    const page = readKeysetPage(query, {
      url: request.url ?? '/',
      place: uuid(),
      sizeDefault: pageSizeDefault,
    });
    const { ids, search } = query;
    const found = await identities.list({ limit: page.limit, after: page.after ?? query.after, ids, search });
    return page.present(found, { item: presentIdentity, place: ({ id }) => id });
  };

  const get: Handler<typeof getIdentity> = async ({ params }) => ({
    status: 200,
    body: presentIdentity(await identities.find(params.id)),
  });

  const findByEmail: Handler<typeof findIdentityByEmail> = async ({ params }) => ({
    status: 200,
    body: presentIdentity(await identities.findByEmail(params.email)),
  });

  const findBySso: Handler<typeof findIdentityBySso> = async ({ query }) => ({
    status: 200,
    body: presentIdentity(await identities.findBySso(query.provider, query.sso_id)),
  });

  const update: Handler<typeof updateIdentity> = async ({ params, body, request, response }) => {
    const changes = readIdentityChanges(body);
    const updated = await identities.update(params.id, changes, originOf(request), abortSignalOf(response));
    return { status: 200, body: presentIdentity(updated) };
  };

  const remove: Handler<typeof deleteIdentity> = async ({ params, request }) => {
    await identities.delete(params.id, originOf(request));
    return { status: 204 };
  };

  return { create, list, get, findByEmail, findBySso, update, remove };
}
