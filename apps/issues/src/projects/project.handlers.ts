import type { createProject, getProject, listProjects, moveIssue, updateProject } from '@tessera/contracts';
import { type Handler, jsonText } from '@tessera/service-kit';
import type { OnceHandler } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import { type IssuePresenter, issueResponse } from '../issue-core/issue.presenter.ts';
import type { PresentedIssue } from '../issue-core/issue.ts';
import { type IssueReference, type IssueUrls, seenBy } from '../issue-core/issue-reference.ts';
import { assertNames, readIfMatch, shortHash, unlessKnown } from '../issue-core/precondition.ts';
import type { Project } from '../issue-core/project.ts';
import { createdProjectResponse, presentProject, projectResponse } from './project.presenter.ts';
import type { ProjectService } from './project.service.ts';

interface ProjectHandlersOptions {
  projects: ProjectService;
  issues: { find(reference: IssueReference): Promise<PresentedIssue> };
  presenter: IssuePresenter;
  urls: IssueUrls;
  publicBaseUrl: string;
}

/** Handlers of projects. */
export function projectHandlers({
  projects,
  issues,
  presenter,
  urls,
  publicBaseUrl,
}: ProjectHandlersOptions) {
  const list: Handler<typeof listProjects, Actor> = async ({ actor, headers }) => {
    const body = jsonText((await projects.list(actor)).map((project) => presentProject(project, urls)));
    return unlessKnown(headers, { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body });
  };

  const get: Handler<typeof getProject, Actor> = async ({ actor, params, headers }) =>
    unlessKnown(headers, projectResponse(await projects.find(params.key, actor), urls));

  const create: OnceHandler<typeof createProject> = {
    prepare:
      ({ actor, body }) =>
      async (transaction) => {
        const created = await projects.create(actor, body, transaction);
        return { resourceId: created.id, response: createdProjectResponse(created, urls, publicBaseUrl) };
      },
    present: async (id, { actor }) =>
      createdProjectResponse(await projects.get(id, actor), urls, publicBaseUrl),
  };

  const update: Handler<typeof updateProject, Actor> = async ({ actor, params, headers, body }) => {
    const ifMatch = readIfMatch(headers['If-Match']);
    const assertCurrent = (project: Project) =>
      assertNames(ifMatch, projectResponse(project, urls).headers.ETag);
    return projectResponse(await projects.update(actor, params.key, body, { assertCurrent }), urls);
  };

  const move: OnceHandler<typeof moveIssue> = {
    issueOf: ({ actor, params }) => urls.parse(params, actor),
    prepare: async ({ actor, params, body, requestId }) => {
      const reference = urls.parse(params, actor);
      const project = await projects.resolve(body.project, actor);
      return async (transaction) => {
        const moved = await projects.move(actor, reference, project, requestId, transaction);
        return { resourceId: moved.id, response: issueResponse(presenter.text(moved)) };
      };
    },
    present: async (id, { actor }) => issueResponse(await issues.find(seenBy({ id }, actor))),
  };

  return { list, get, create, update, move };
}
