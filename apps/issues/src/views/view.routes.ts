import { createView, deleteView, getView, listViews, updateView } from '@tessera/contracts';
import { type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { once } from '../idempotency/once.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { viewHandlers } from './view.handlers.ts';

/** The operations on views. No response is compressed: names of others are beside the filters of a person. */
export function viewRoutes(
  { views, idempotency, config: { publicBaseUrl } }: Dependencies,
  { access, reads, writes }: RouteLimits,
): Route[] {
  const handlers = viewHandlers({ views, publicBaseUrl });
  return [
    route(listViews, { access, limit: reads }, handlers.list),
    route(createView, { access, limit: writes }, once(idempotency, handlers.create)),
    route(getView, { access, limit: reads }, handlers.get),
    route(updateView, { access, limit: writes }, handlers.update),
    route(deleteView, { access, limit: writes }, handlers.remove),
  ];
}
