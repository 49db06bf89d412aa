import {
  type createProject,
  type getProject,
  listProjects,
  type Project as WireProject,
} from '@tessera/contracts';
import { jsonText, type ResponseOf } from '@tessera/service-kit';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { shortHash } from '../issue-core/precondition.ts';
import { defaultProjectId, type Project } from '../issue-core/project.ts';

export type ProjectPresenter = Pick<IssueUrls, 'projectKey'>;

/** Converts a project to its representation in the API. */
export function presentProject(project: Project, urls: ProjectPresenter): WireProject {
  return {
    id: project.id,
    key: urls.projectKey(project.key),
    name: project.name,
    is_default: project.id === defaultProjectId,
    visibility: project.visibility,
    is_archived: project.archivedAt !== null,
    mail_text: project.mailText,
    version: project.version,
    created_at: project.createdAt.toISOString(),
  };
}

export function projectResponse(
  project: Project,
  urls: ProjectPresenter,
): ResponseOf<typeof getProject> & { status: 200; headers: { ETag: string } } {
  const body = jsonText(presentProject(project, urls));
  return { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body };
}

export function createdProjectResponse(
  project: Project,
  urls: ProjectPresenter,
  publicBaseUrl: string,
): ResponseOf<typeof createProject> {
  const { headers, body } = projectResponse(project, urls);
  const location = `${publicBaseUrl}${listProjects.path}${urls.projectKey(project.key)}/`;
  return { status: 201, headers: { ...headers, Location: location }, body };
}
