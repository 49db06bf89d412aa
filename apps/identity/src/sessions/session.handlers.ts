import {
  type listSessions,
  pageSizeDefault,
  type revokeSession,
  type revokeSessions,
} from '@tessera/contracts';
import { type Handler, originOf } from '@tessera/service-kit';
import { nextLink } from '../paging/keyset-page.ts';
import { presentSession, presentSessionPosition, readSessionPosition } from './session.presenter.ts';
import type { SessionService } from './session.service.ts';

export function sessionHandlers(sessions: SessionService) {
  const list: Handler<typeof listSessions> = async ({ params, query, request }) => {
    const { limit = pageSizeDefault, cursor } = query;
    const { items, end } = await sessions.list(params.id, { limit, after: readSessionPosition(cursor) });
    return {
      status: 200,
      headers: nextLink(request.url ?? '', presentSessionPosition(end)),
      body: items.map(presentSession),
    };
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
