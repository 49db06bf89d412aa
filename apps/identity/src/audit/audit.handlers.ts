import { type listAuditEvents, pageSizeDefault } from '@tessera/contracts';
import { type Handler, jsonPage } from '@tessera/service-kit';
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
    const { limit = pageSizeDefault, cursor } = query;
    const page = { limit: limit + 1, after: readAuditPosition(cursor) };
    const events = await audit.list(readAuditFilter(query), page);
    const { body, end } = jsonPage(events, limit, presentAuditEvent);
    return { status: 200, headers: nextLink(request.url ?? '', presentAuditPosition(end)), body };
  };

  return { list };
}
