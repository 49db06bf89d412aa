import {
  type listSessions,
  pageSizeDefault,
  type revokeSession,
  type revokeSessions,
  uuid,
} from '@tessera/contracts';
import { cursorTime, type Handler, originOf, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import { presentSession } from './session.presenter.ts';
import type { SessionService } from './session.service.ts';

const place = z.object({ createdAt: cursorTime.transform((time) => new Date(time)), id: uuid() });

export function sessionHandlers(sessions: SessionService) {
  const list: Handler<typeof listSessions> = async ({ params, query, request }) => {
    const page = readKeysetPage(query, { url: request.url ?? '/', place, sizeDefault: pageSizeDefault });
    const found = await sessions.list(params.id, page);
    return page.present(found, { item: presentSession, place: ({ createdAt, id }) => ({ createdAt, id }) });
  };

  const revokeAll: Handler<typeof revokeSessions> = async ({ params, request }) => {
    await sessions.revokeAll(params.id, originOf(request));
    return { status: 204 };
  };

  const revoke: Handler<typeof revokeSession> = async ({ params, request }) => {
    await sessions.revoke(params.id, params.session_id, originOf(request));
    return { status: 204 };
  };

  return { list, revokeAll, revoke };
}
