import { sendAnswer } from '@tessera/service-kit';
import { Router } from 'express';
import { type IssueAddresses, issuePath } from '../issues/issue-address.ts';
import type { SortKey } from '../paging/cursor.ts';
import { readKeysetPage } from '../paging/keyset-page.ts';
import { presentActivity } from './activity.presenter.ts';
import type { ActivityService } from './activity.service.ts';

interface ActivityRouterOptions {
  activity: ActivityService;
  addresses: IssueAddresses;
}

const oldestFirst: SortKey[] = [{ field: 'number', descending: false }];

export function activityRouter({ activity, addresses }: ActivityRouterOptions): Router {
  const router = Router();

  router.get(`${issuePath}/activity`, async (request, response) => {
    const reference = addresses.parse(request.params);
    const page = readKeysetPage(
      request.query,
      addresses.of(String(request.params.id), 'activity'),
      oldestFirst,
    );
    const after = Number(page.after?.[0] ?? 0);
    const { lines, end } = await activity.list(reference, { size: page.size, after });
    sendAnswer(response, page.present(lines.map(presentActivity), end === undefined ? undefined : [end]));
  });

  return router;
}
