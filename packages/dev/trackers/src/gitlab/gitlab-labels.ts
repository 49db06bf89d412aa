import { membersOf, type TrackerRequest, type TrackerResponse } from '../server/exchange.ts';
import type { FakeContext } from '../server/run-fake.ts';
import type { TrackerLabel } from '../tracker/tracker.ts';
import { invalid, labelExists, missing } from './gitlab-errors.ts';
import type { GitLabIssues } from './gitlab-issues.ts';
import type { GitLabPages } from './gitlab-pages.ts';

const NAME_MAX = 255;

/** GitLab's operations on the labels of a project. Issues refer to labels by name. */
export class GitLabLabels {
  readonly #context: FakeContext;
  readonly #issues: GitLabIssues;
  readonly #pages: GitLabPages;

  constructor(context: FakeContext, issues: GitLabIssues, pages: GitLabPages) {
    this.#context = context;
    this.#issues = issues;
    this.#pages = pages;
  }

  /** Lists labels, sorted by name. */
  readonly list = (call: TrackerRequest): TrackerResponse => {
    this.#issues.assertProject(call);
    const labels = this.#context.tracker.labels().toSorted((one, other) => (one.name < other.name ? -1 : 1));
    return this.#pages.respond(call, labels, present);
  };

  // GitLab's lib/api/helpers/label_helpers.rb, create_label, and app/models/label.rb.
  readonly create = (call: TrackerRequest): TrackerResponse => {
    this.#issues.assertProject(call);
    const { name, color } = membersOf(call.body);
    if (name === undefined) throw missing('name');
    if (color === undefined) throw missing('color');
    const title = String(name).trim();
    if (this.#context.tracker.findLabel(title) !== undefined) throw labelExists();
    if (title === '') throw invalid({ title: ["can't be blank", 'is invalid'] });
    if (title.includes(',')) throw invalid({ title: ['is invalid'] });
    if ([...title].length > NAME_MAX)
      throw invalid({ title: [`is too long (maximum is ${NAME_MAX} characters)`] });
    if (!/^#[0-9a-f]{6}$/i.test(String(color))) throw invalid({ color: ['must be a valid color code'] });
    const label = this.#context.tracker.label(title, String(color).slice(1));
    return { status: 201, body: present(label) };
  };
}

function present({ id, name, color }: TrackerLabel): Record<string, unknown> {
  return {
    id,
    name,
    description: null,
    description_html: null,
    text_color: '#FFFFFF',
    color: `#${color}`,
    subscribed: false,
    priority: null,
    is_project_label: true,
  };
}
