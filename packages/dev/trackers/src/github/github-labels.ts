import { membersOf, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import { BOT, type FakeContext } from '../server/run-fake.ts';
import { invalid, noSuchLabel } from './github-errors.ts';
import type { GitHubIssues } from './github-issues.ts';
import type { GitHubPages } from './github-pages.ts';
import type { GitHubPresenter } from './github-presenter.ts';

const NAME_MAX = 50;

/** GitHub's operations on labels. Names are case-insensitive. */
export class GitHubLabels {
  readonly #context: FakeContext;
  readonly #issues: GitHubIssues;
  readonly #present: GitHubPresenter;
  readonly #pages: GitHubPages;

  constructor(context: FakeContext, issues: GitHubIssues, present: GitHubPresenter, pages: GitHubPages) {
    this.#context = context;
    this.#issues = issues;
    this.#present = present;
    this.#pages = pages;
  }

  readonly list = (call: TrackerRequest): TrackerResponse => {
    this.#issues.assertRepository(call);
    return this.#pages.respond(call, this.#context.tracker.labels(), (label) => this.#present.label(label));
  };

  readonly create = (call: TrackerRequest): TrackerResponse => {
    this.#issues.assertRepository(call);
    const { name, color } = membersOf(call.body);
    const problem = this.#problemWith(String(name));
    if (problem !== undefined) throw invalid({ resource: 'Label', field: 'name', ...problem });
    const label = this.#context.tracker.label(String(name), color === undefined ? undefined : String(color));
    const body = this.#present.label(label);
    return { status: 201, headers: { location: String(body.url) }, body };
  };

  /** Creates labels that do not exist. */
  readonly add = (call: TrackerRequest): TrackerResponse => {
    const issue = this.#issues.find(call);
    const { labels } = membersOf(call.body);
    const names = Array.isArray(labels) ? labels : [];
    const added = names.map((label) => (typeof label === 'string' ? label : String(membersOf(label).name)));
    this.#context.tracker.edit(issue, { labels: [...issue.labels, ...added] }, BOT);
    return this.#labelsOf(issue);
  };

  readonly remove = (call: TrackerRequest): TrackerResponse => {
    const issue = this.#issues.find(call);
    const label = this.#context.tracker.findLabel(String(call.params.name));
    if (label === undefined || !issue.labels.includes(label.name)) throw noSuchLabel();
    const labels = issue.labels.filter((name) => name !== label.name);
    this.#context.tracker.edit(issue, { labels }, BOT);
    return this.#labelsOf(issue);
  };

  #problemWith(name: string) {
    if (this.#context.tracker.findLabel(name) !== undefined) return { code: 'already_exists' } as const;
    if ([...name].length <= NAME_MAX) return undefined;
    return { code: 'custom', message: `name is too long (maximum is ${NAME_MAX} characters)` } as const;
  }

  #labelsOf({ labels }: { labels: readonly string[] }): TrackerResponse {
    const { tracker } = this.#context;
    return { status: 200, body: labels.map((name) => this.#present.label(tracker.label(name))) };
  }
}
