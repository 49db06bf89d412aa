import {
  createIdentitySchema,
  identityEmailParamsSchema,
  identityIdParamsSchema,
  ssoLookupQuerySchema,
  updateIdentitySchema,
} from '@tessera/contracts';
import { abortSignalOf, originOf, parse, readBody } from '@tessera/service-kit';
import { Router } from 'express';
import { presentIdentity, readIdentityChanges, readNewIdentity } from './identity.presenter.ts';
import type { IdentityService } from './identity.service.ts';

const body = readBody({ limitBytes: 64 * 1024 });

/** identity-service.md 4.2 */
export function identityRouter(identities: IdentityService): Router {
  const router = Router();

  router.post('/internal/identities', body, async (request, response) => {
    const identity = readNewIdentity(parse(createIdentitySchema, request.body));
    const created = await identities.create(identity, originOf(request), abortSignalOf(response));
    response.status(201).location(`/internal/identities/${created.id}`).json(presentIdentity(created));
  });

  router.get('/internal/identities/by-email/:email', async (request, response) => {
    const { email } = parse(identityEmailParamsSchema, request.params);
    response.json(presentIdentity(await identities.findByEmail(email)));
  });

  router.get('/internal/identities/by-sso/lookup', async (request, response) => {
    const { provider, sso_id: ssoId } = parse(ssoLookupQuerySchema, request.query);
    response.json(presentIdentity(await identities.findBySso(provider, ssoId)));
  });

  router.get('/internal/identities/:id', async (request, response) => {
    const { id } = parse(identityIdParamsSchema, request.params);
    response.json(presentIdentity(await identities.find(id)));
  });

  router.put('/internal/identities/:id', body, async (request, response) => {
    const { id } = parse(identityIdParamsSchema, request.params);
    const changes = readIdentityChanges(parse(updateIdentitySchema, request.body));
    response.json(
      presentIdentity(await identities.update(id, changes, originOf(request), abortSignalOf(response))),
    );
  });

  router.delete('/internal/identities/:id', async (request, response) => {
    const { id } = parse(identityIdParamsSchema, request.params);
    await identities.delete(id, originOf(request));
    response.status(204).end();
  });

  return router;
}
