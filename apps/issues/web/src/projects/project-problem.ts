import { HttpError } from '../http/http.ts';

/** What to do about a refusal, by the code of the problem. */
const advice: Readonly<Record<string, string>> = {
  last_manager: 'A project needs a manager. Make another person a manager first.',
  too_many_projects: 'This person is a member of as many projects as possible.',
  too_many_members: 'The project has as many members as possible.',
  unknown_identity: 'This person is no longer known.',
  member_not_found: 'This person is no longer a member.',
  forbidden: 'Only managers of the project and staff may do this.',
  project_not_found: 'There is no such project, or you no longer see it.',
};

/** Says why the service has refused a change of a project. */
export function projectProblem(error: unknown): Error {
  if (error instanceof HttpError) return new Error(advice[error.code] ?? error.message);
  return error instanceof Error ? error : new Error('Try again.');
}

/** Runs a change of a project, and words its refusal for the person. */
export const explained = <Result>(act: Promise<Result>): Promise<Result> =>
  act.catch((error: unknown) => {
    throw projectProblem(error);
  });
