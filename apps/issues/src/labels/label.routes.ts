import { createLabel, deleteLabel, getLabel, listLabels, updateLabel } from '@tessera/contracts';
import { type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { once } from '../idempotency/once.ts';
import { assertMayAdministerLabels } from '../issue-core/issue-access.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { labelHandlers } from './label.handlers.ts';

/** The operations on labels; changes are for staff. */
export function labelRoutes(
  { labels, idempotency, config: { publicBaseUrl } }: Dependencies,
  { access, reads, writes }: RouteLimits,
): Route[] {
  const handlers = labelHandlers({ labels, publicBaseUrl });
  const editor = { access, limit: writes, authorize: assertMayAdministerLabels };
  return [
    // Every user may read all labels.
    route(listLabels, { access, limit: reads, compress: () => true }, handlers.list),
    route(getLabel, { access, limit: reads }, handlers.get),
    route(createLabel, editor, once(idempotency, handlers.create)),
    route(updateLabel, editor, handlers.update),
    route(deleteLabel, editor, handlers.remove),
  ];
}
