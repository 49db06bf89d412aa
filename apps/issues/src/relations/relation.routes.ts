import { deleteRelation, listRelations, putRelation } from '@tessera/contracts';
import { type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { relationHandlers } from './relation.handlers.ts';

/** The operations on relations between issues. */
export function relationRoutes(dependencies: Dependencies, { access, reads, writes }: RouteLimits): Route[] {
  const handlers = relationHandlers(dependencies);
  return [
    route(listRelations, { access, limit: reads }, handlers.list),
    route(putRelation, { access, limit: writes }, handlers.put),
    route(deleteRelation, { access, limit: writes }, handlers.remove),
  ];
}
