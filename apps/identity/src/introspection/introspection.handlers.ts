import type { introspectToken } from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import { presentIntrospection } from './introspection.presenter.ts';
import type { IntrospectionService } from './introspection.service.ts';

export function introspectionHandlers(introspection: IntrospectionService) {
  const introspect: Handler<typeof introspectToken> = async ({ body }) => ({
    status: 200,
    body: presentIntrospection(await introspection.introspect(body.token)),
  });

  return { introspect };
}
