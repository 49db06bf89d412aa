import { type DefaultTreeAdapterMap, parseFragment } from 'parse5';
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
    if (this.#context.tracker.findLabel(String(name)) !== undefined) throw labelExists();
    const title = storedTitle(String(name));
    if (this.#context.tracker.findLabel(title) !== undefined)
      throw invalid({ title: ['has already been taken'] });
    if (title === '') throw invalid({ title: ["can't be blank", 'is invalid'] });
    if (title.includes(',')) throw invalid({ title: ['is invalid'] });
    if ([...title].length > NAME_MAX)
      throw invalid({ title: [`is too long (maximum is ${NAME_MAX} characters)`] });
    if (!/^#[0-9a-f]{6}$/i.test(String(color))) throw invalid({ color: ['must be a valid color code'] });
    const label = this.#context.tracker.label(title, String(color).slice(1));
    return { status: 201, body: present(label) };
  };
}

// The elements of Sanitize's lib/sanitize/config/default.rb, whitespace_elements, that a short name may contain.
const BLOCKS = ['blockquote', 'br', 'div', 'h1', 'h2', 'h3', 'hr', 'li', 'ol', 'p', 'pre', 'ul'];

/**
 * GitLab's app/models/label.rb, sanitize_value: `CGI.unescapeHTML(Sanitize.clean(value))`. Sanitize writes the text of
 * the parsed HTML as HTML again, and of its character references, unescapeHTML does not know `&nbsp;`.
 */
export function storedTitle(value: string): string {
  return textIn(parseFragment(value)).replaceAll('\u00a0', '&nbsp;').trim();
}

function textIn(node: DefaultTreeAdapterMap['node']): string {
  if ('value' in node) return node.value;
  const text = 'childNodes' in node ? node.childNodes.map(textIn).join('') : '';
  if (!BLOCKS.includes(node.nodeName)) return text;
  return text === '' ? ' ' : ` ${text} `;
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
