import {
  identityIdParamsSchema,
  pageQuerySchema,
  pageSizeDefault,
  sessionParamsSchema,
} from '@tessera/contracts';
import { originOf, parse } from '@tessera/service-kit';
import { Router } from 'express';
import { nextLink } from '../paging/keyset-page.ts';
import { presentSession, presentSessionPlace, readSessionPlace } from './session.presenter.ts';
import type { SessionService } from './session.service.ts';

export function sessionRouter(sessions: SessionService): Router {
  const router = Router();

  router.get('/internal/identities/:id/sessions', async (request, response) => {
    const { id } = parse(identityIdParamsSchema, request.params);
    const { limit = pageSizeDefault, cursor } = parse(pageQuerySchema, request.query);
    const { items, end } = await sessions.list(id, { limit, after: readSessionPlace(cursor) });
    response.set(nextLink(request.originalUrl, presentSessionPlace(end))).json(items.map(presentSession));
  });

  router.delete('/internal/identities/:id/sessions', async (request, response) => {
    const { id } = parse(identityIdParamsSchema, request.params);
    await sessions.revokeAll(id, originOf(request));
    response.status(204).end();
  });

  router.delete('/internal/identities/:id/sessions/:session_id', async (request, response) => {
    const { id, session_id: sessionId } = parse(sessionParamsSchema, request.params);
    await sessions.revoke(id, sessionId, originOf(request));
    response.status(204).end();
  });

  return router;
}
