import {
  type getWatching,
  type listWatching,
  type startWatching,
  type stopWatching,
  uuid,
  type Watching,
} from '@tessera/contracts';
import { cursorTime, type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../issue-core/actor.ts';
import { assertFound, type IssueReference, type IssueUrls } from '../issue-core/issue-reference.ts';
import type { IssueWriter } from '../issue-store/write.ts';
import type { WatchingRepository, WatchState } from './watching.repository.ts';

interface WatchingHandlersOptions {
  watching: WatchingRepository;
  writer: Pick<IssueWriter, 'setWatching'>;
  urls: IssueUrls;
}

const place = z.object({ since: cursorTime, id: uuid() });

/** Handlers of watching. Who may read an issue may watch it, and sees only whether they watch it themselves. */
export function watchingHandlers({ watching, writer, urls }: WatchingHandlersOptions) {
  const set = async (reference: IssueReference, userId: string, isWatching: boolean) =>
    assertFound(await writer.setWatching(reference, userId, isWatching));

  const get: Handler<typeof getWatching, Actor> = async ({ actor, params }) => ({
    status: 200,
    body: present(assertFound(await watching.find(urls.parse(params, actor), actor.id))),
  });

  const start: Handler<typeof startWatching, Actor> = async ({ actor, params }) => ({
    status: 200,
    body: present({ issueId: await set(urls.parse(params, actor), actor.id, true), isWatching: true }),
  });

  const stop: Handler<typeof stopWatching, Actor> = async ({ actor, params }) => {
    await set(urls.parse(params, actor), actor.id, false);
    return { status: 204 };
  };

  const list: Handler<typeof listWatching, Actor> = async ({ actor, query }) => {
    const page = readKeysetPage(query, { url: urls.watching, place, sizeDefault: 100 });
    return page.present(await watching.list(actor.access.scope, actor.id, page), {
      item: ({ updatedAt, since, projectKey, ...issue }) => ({
        ...issue,
        key: urls.keyOf({ number: issue.number, projectKey }),
        updated_at: updatedAt.toISOString(),
        watching_since: since.toISOString(),
      }),
      place: ({ id, since }) => ({ id, since }),
    });
  };

  return { get, start, stop, list };
}

function present({ issueId, isWatching }: WatchState): Watching {
  return { issue_id: issueId, is_watching: isWatching };
}
