import type {
  createIdentity,
  deleteIdentity,
  findIdentityByEmail,
  findIdentityBySso,
  getIdentity,
  updateIdentity,
} from '@tessera/contracts';
import { abortSignalOf, type Handler, originOf } from '@tessera/service-kit';
import { presentIdentity, readIdentityChanges, readNewIdentity } from './identity.presenter.ts';
import type { IdentityService } from './identity.service.ts';

/** identity-service.md 4.2 */
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

  return { create, get, findByEmail, findBySso, update, remove };
}
