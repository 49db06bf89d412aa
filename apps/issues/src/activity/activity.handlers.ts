import type { listActivity } from '@tessera/contracts';
import { type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../issue-core/actor.ts';
import { assertFound, type IssueUrls } from '../issue-core/issue-reference.ts';
import { presentActivity } from './activity.presenter.ts';
import type { ActivityRepository } from './activity.repository.ts';

const place = z.int().positive();

/** Handler of the history: who may read an issue may read it. */
export function activityHandlers({ activity, urls }: { activity: ActivityRepository; urls: IssueUrls }) {
  const list: Handler<typeof listActivity, Actor> = async ({ actor, params, query }) => {
    const reference = urls.parse(params, actor);
    const { order = 'oldest' } = query;
    const url = urls.listOf(reference, 'activity', order);
    const page = readKeysetPage(query, { url, place, sizeDefault: 100 });
    const lines = assertFound(await activity.list(reference, { ...page, order }));
    return page.present(lines, { item: presentActivity, place: ({ id }) => id });
  };

  return { list };
}
