import { auditQuerySchema, pageSizeDefault } from '@tessera/contracts';
import { parse } from '@tessera/service-kit';
import { Router } from 'express';
import { nextLink } from '../paging/keyset-page.ts';
import { presentAuditEvent, presentAuditPlace, readAuditFilter, readAuditPlace } from './audit.presenter.ts';
import type { AuditService } from './audit.service.ts';

export function auditRouter(audit: AuditService): Router {
  const router = Router();

  router.get('/internal/audit-events', async (request, response) => {
    const query = parse(auditQuerySchema, request.query);
    const { items, end } = await audit.list(readAuditFilter(query), {
      limit: query.limit ?? pageSizeDefault,
      place: readAuditPlace(query.cursor),
    });
    response.set(nextLink(request.originalUrl, presentAuditPlace(end))).json(items.map(presentAuditEvent));
  });

  return router;
}
