import {
  type listSessions,
  pageSizeDefault,
  type revokeSession,
  type revokeSessions,
} from '@tessera/contracts';
import { type Handler, jsonPage, originOf } from '@tessera/service-kit';
import { nextLink } from '../paging/keyset-page.ts';
import { presentSession, presentSessionPosition, readSessionPosition } from './session.presenter.ts';
import type { SessionService } from './session.service.ts';

export function sessionHandlers(sessions: SessionService) {
  const list: Handler<typeof listSessions> = async ({ params, query, request }) => {
    const { limit = pageSizeDefault, cursor } = query;
    const page = { limit: limit + 1, after: readSessionPosition(cursor) };
    const { body, end } = jsonPage(await sessions.list(params.id, page), limit, presentSession);
    return { status: 200, headers: nextLink(request.url ?? '', presentSessionPosition(end)), body };
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
