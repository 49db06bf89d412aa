import { type listAuditEvents, pageSizeDefault } from '@tessera/contracts';
import { cursorTime, type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import { presentAuditEvent, readAuditFilter } from './audit.presenter.ts';
import type { AuditService } from './audit.service.ts';

const place = z.object({ at: cursorTime.transform((time) => new Date(time)), id: z.int().positive() });

export function auditHandlers(audit: AuditService) {
  const list: Handler<typeof listAuditEvents> = async ({ query, request }) => {
    const page = readKeysetPage(query, { url: request.url ?? '/', place, sizeDefault: pageSizeDefault });
    const events = await audit.list(readAuditFilter(query), page);
    return page.present(events, { item: presentAuditEvent, place: ({ at, id }) => ({ at, id }) });
  };

  return { list };
}
