import { type PreparedDocument, sendPreparedDocument } from '@tessera/service-kit';
import cors from 'cors';
import { Router } from 'express';

export const discoveryPath = '/.well-known/openid-configuration';

export function discoveryRouter(document: PreparedDocument): Router {
  const router = Router();
  router.options(discoveryPath, cors({ methods: ['GET', 'HEAD'] }));
  router.get(discoveryPath, (request, response) => sendPreparedDocument(request, response, document));
  return router;
}
