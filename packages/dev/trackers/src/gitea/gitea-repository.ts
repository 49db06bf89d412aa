import type { TrackerRequest } from '../server/exchange.ts';
import type { FakeContext } from '../server/run-fake.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import type { GiteaErrors } from './gitea-errors.ts';
import type { GiteaPages } from './gitea-pages.ts';
import type { GiteaPresenter } from './gitea-presenter.ts';

/** Shared by all operations on the repository. */
export interface GiteaRepository extends FakeContext {
  readonly present: GiteaPresenter;
  readonly pages: GiteaPages;
  readonly errors: GiteaErrors;
  /** Whether issues have `content_version`. */
  readonly contentVersion: boolean;
}

/** @throws ErrorResponse 404 */
export function assertRepository(
  { project, settings, errors }: GiteaRepository,
  { params }: TrackerRequest,
): void {
  const asked = `${params.owner}/${params.repo}`.toLowerCase();
  if (asked !== `${project.owner}/${project.name}`.toLowerCase()) throw errors.notFound();
  // Gitea's routers/api/v1/api.go, mustEnableIssues.
  if (!settings.issuesEnabled) throw errors.notFound();
}

/** @throws ErrorResponse 404 */
export function findIssue(repository: GiteaRepository, call: TrackerRequest): TrackerIssue {
  assertRepository(repository, call);
  const issue = repository.tracker.find(Number(call.params.index));
  if (issue?.presence.kind !== 'present') throw repository.errors.notFound();
  return issue;
}
