import { type listAuditEvents, pageSizeDefault } from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import { nextLink } from '../paging/keyset-page.ts';
import {
  presentAuditEvent,
  presentAuditPosition,
  readAuditFilter,
  readAuditPosition,
} from './audit.presenter.ts';
import type { AuditService } from './audit.service.ts';

export function auditHandlers(audit: AuditService) {
  const list: Handler<typeof listAuditEvents> = async ({ query, request }) => {
    const { items, end } = await audit.list(readAuditFilter(query), {
      limit: query.limit ?? pageSizeDefault,
      after: readAuditPosition(query.cursor),
    });
    return {
      status: 200,
      headers: nextLink(request.url ?? '', presentAuditPosition(end)),
      body: items.map(presentAuditEvent),
    };
  };

  return { list };
}
