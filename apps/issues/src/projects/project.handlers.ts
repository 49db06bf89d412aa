import type { createProject, getProject, listProjects, moveIssue, updateProject } from '@tessera/contracts';
import { type Handler, jsonText } from '@tessera/service-kit';
import type { OnceHandler } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import { type IssuePresenter, issueResponse } from '../issue-core/issue.presenter.ts';
import type { PresentedIssue } from '../issue-core/issue.ts';
import type { IssueReference, IssueUrls } from '../issue-core/issue-reference.ts';
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

/** Handlers of projects. Every active user may read projects; staff administer them. */
export function projectHandlers({
  projects,
  issues,
  presenter,
  urls,
  publicBaseUrl,
}: ProjectHandlersOptions) {
  const list: Handler<typeof listProjects, Actor> = async ({ headers }) => {
    const body = jsonText((await projects.list()).map((project) => presentProject(project, urls)));
    return unlessKnown(headers, { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body });
  };

  const get: Handler<typeof getProject, Actor> = async ({ params, headers }) =>
    unlessKnown(headers, projectResponse(await projects.find(params.key), urls));

  const create: OnceHandler<typeof createProject> = {
    prepare:
      ({ body }) =>
      async (transaction) => {
        const created = await projects.create(body, transaction);
        return { resourceId: created.id, response: createdProjectResponse(created, urls, publicBaseUrl) };
      },
    present: async (id) => createdProjectResponse(await projects.get(id), urls, publicBaseUrl),
  };

  const update: Handler<typeof updateProject, Actor> = async ({ params, headers, body }) => {
    const ifMatch = readIfMatch(headers['If-Match']);
    const assertCurrent = (project: Project) =>
      assertNames(ifMatch, projectResponse(project, urls).headers.ETag);
    return projectResponse(await projects.update(params.key, body, { assertCurrent }), urls);
  };

  const move: OnceHandler<typeof moveIssue> = {
    issueOf: ({ params }) => urls.parse(params),
    prepare: async ({ actor, params, body, requestId }) => {
      const reference = urls.parse(params);
      const project = await projects.resolve(body.project);
      return async (transaction) => {
        const moved = await projects.move(actor, reference, project, requestId, transaction);
        return { resourceId: moved.id, response: issueResponse(presenter.text(moved)) };
      };
    },
    present: async (id) => issueResponse(await issues.find({ id })),
  };

  return { list, get, create, update, move };
}
