import type { listActivity } from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';
import type { IssueUrls } from '../issues/issue-urls.ts';
import type { SortKey } from '../paging/cursor.ts';
import { readKeysetPage } from '../paging/keyset-page.ts';
import { presentActivity } from './activity.presenter.ts';
import type { ActivityService } from './activity.service.ts';

const oldestFirst: SortKey[] = [{ field: 'number', descending: false }];

export function activityHandlers({ activity, urls }: { activity: ActivityService; urls: IssueUrls }) {
  const list: Handler<typeof listActivity, Actor> = async ({ params, query }) => {
    const reference = urls.parse(params);
    const page = readKeysetPage(query, urls.of(params.id, 'activity'), oldestFirst);
    const after = Number(page.after?.[0] ?? 0);
    const lines = await activity.list(reference, { limit: page.limit, after });
    return page.present(lines, { item: presentActivity, place: ({ id }) => [id] });
  };

  return { list };
}
