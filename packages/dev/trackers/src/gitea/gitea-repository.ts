import type { Call } from '../server/exchange.ts';
import type { Ground } from '../server/run-fake.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import type { GiteaErrors } from './gitea-errors.ts';
import type { GiteaPages } from './gitea-pages.ts';
import type { GiteaPresenter } from './gitea-presenter.ts';

/** What every operation on the one repository works with. */
export interface GiteaRepository extends Ground {
  readonly present: GiteaPresenter;
  readonly pages: GiteaPages;
  readonly errors: GiteaErrors;
  /** Whether edits may carry `content_version`. */
  readonly contentVersion: boolean;
}

/** @throws Refused 404 */
export function assertRepository({ project, errors }: GiteaRepository, { params }: Call): void {
  const asked = `${params.owner}/${params.repo}`.toLowerCase();
  if (asked !== `${project.owner}/${project.name}`.toLowerCase()) throw errors.notFound();
}

/** @throws Refused 404 */
export function findIssue(repository: GiteaRepository, call: Call): TrackerIssue {
  assertRepository(repository, call);
  const issue = repository.tracker.find(Number(call.params.index));
  if (issue?.fate.kind !== 'present') throw repository.errors.notFound();
  return issue;
}
