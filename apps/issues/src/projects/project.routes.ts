import { createProject, getProject, listProjects, moveIssue, updateProject } from '@tessera/contracts';
import { type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { once } from '../idempotency/once.ts';
import { assertMayAdministerProjects } from '../issue-core/issue-access.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { projectHandlers } from './project.handlers.ts';

/** The operations on projects; changes are for staff. */
export function projectRoutes(
  { projects, issues, presenter, urls, idempotency, config: { publicBaseUrl } }: Dependencies,
  { access, reads, writes }: RouteLimits,
): Route[] {
  const handlers = projectHandlers({ projects, issues, presenter, urls, publicBaseUrl });
  const editor = { access, limit: writes, authorize: assertMayAdministerProjects };
  return [
    route(listProjects, { access, limit: reads }, handlers.list),
    route(getProject, { access, limit: reads }, handlers.get),
    route(createProject, editor, once(idempotency, handlers.create)),
    route(updateProject, editor, handlers.update),
    route(moveIssue, { access, limit: writes }, once(idempotency, handlers.move)),
  ];
}
