import { type PreparedDocument, sendPreparedDocument } from '@tessera/service-kit';
import cors from 'cors';
import { Router } from 'express';

export const jwksPath = '/jwks';

export function jwksRouter(document: PreparedDocument): Router {
  const router = Router();
  router.options(jwksPath, cors({ methods: ['GET', 'HEAD'] }));
  router.get(jwksPath, (request, response) => sendPreparedDocument(request, response, document));
  return router;
}
