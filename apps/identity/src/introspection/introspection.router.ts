import { introspectionRequestSchema } from '@tessera/contracts';
import { parse, readBody } from '@tessera/service-kit';
import { Router } from 'express';
import { readParameters } from '../tokens/oauth-parameters.ts';
import { presentIntrospection } from './introspection.presenter.ts';
import type { IntrospectionService } from './introspection.service.ts';

const body = readBody({ limitBytes: 16 * 1024, form: true });

export function introspectionRouter(introspection: IntrospectionService): Router {
  const router = Router();

  router.post('/internal/introspect', body, async (request, response) => {
    const { token } = parse(introspectionRequestSchema, readParameters(request));
    response.json(presentIntrospection(await introspection.introspect(token)));
  });

  return router;
}
