import {
  createProject,
  deleteProjectMember,
  getProject,
  listProjectActivity,
  listProjectMembers,
  listProjects,
  moveIssue,
  putProjectMember,
  updateProject,
} from '@tessera/contracts';
import { type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { once } from '../idempotency/once.ts';
import { assertMayCreateProjects } from '../issue-core/issue-access.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { memberHandlers } from './member.handlers.ts';
import { projectHandlers } from './project.handlers.ts';

/** The operations on projects and their members. */
export function projectRoutes(
  { projects, members, issues, presenter, urls, idempotency, config: { publicBaseUrl } }: Dependencies,
  { access, reads, writes }: RouteLimits,
): Route[] {
  const handlers = projectHandlers({ projects, issues, presenter, urls, publicBaseUrl });
  const people = memberHandlers({ members, publicBaseUrl });
  const creator = { access, limit: writes, authorize: assertMayCreateProjects };
  return [
    route(listProjects, { access, limit: reads }, handlers.list),
    route(getProject, { access, limit: reads }, handlers.get),
    route(createProject, creator, once(idempotency, handlers.create)),
    route(updateProject, { access, limit: writes }, handlers.update),
    route(listProjectMembers, { access, limit: reads }, people.list),
    route(putProjectMember, { access, limit: writes }, people.put),
    route(deleteProjectMember, { access, limit: writes }, people.remove),
    route(listProjectActivity, { access, limit: reads }, people.history),
    route(moveIssue, { access, limit: writes }, once(idempotency, handlers.move)),
  ];
}
