import type { IssueProject, ProjectMailText, ProjectVisibility } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';

/** The project of issues that are created without one. The migration has created it with this id. */
export const defaultProjectId = '00000000-0000-7000-8000-000000000001';

export interface Project {
  id: string;
  /** Null for the default project, whose key is the configured prefix. */
  key: string | null;
  name: string;
  /** Who reads its issues. */
  visibility: ProjectVisibility;
  archivedAt: Date | null;
  /** What mails about its issues contain. */
  mailText: ProjectMailText;
  version: number;
  createdAt: Date;
}

/** What the history of a moved issue has of a project. */
export type ProjectValue = Pick<IssueProject, 'id' | 'key'>;

export function projectArchived(): ProblemError {
  return new ProblemError({ status: 409, code: 'project_archived', detail: 'The project is archived.' });
}

export function trackerLinked(): ProblemError {
  const detail = 'The issue has a remote issue in the external tracker, or is being synced. Detach it first.';
  return new ProblemError({ status: 409, code: 'tracker_linked', detail });
}
