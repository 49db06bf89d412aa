import type { FakeIssue, IssueChanges } from '../fake-tracker.ts';
import { applyChanges, type NewIssue, type TrackerComment, type TrackerIssue } from './tracker-issue.ts';

export interface TrackerOptions {
  readonly crlf: boolean;
  /** Whether visible issues have `stateReason`. */
  readonly stateReasons: boolean;
  /** Whether names of labels differ by more than their case. */
  readonly labelsIgnoreCase?: boolean;
}

export interface TrackerLabel {
  readonly id: number;
  readonly name: string;
  /** Six hexadecimal digits. */
  readonly color: string;
  /** Whether all projects of the project's owner have it. */
  readonly isOfOwner: boolean;
}

/** The issues of one project, independent of a protocol. Numbers and ids are never reused. */
export class Tracker {
  readonly #options: TrackerOptions;
  readonly #users: string[] = [];
  #labels: readonly TrackerLabel[] = [];
  #issues: TrackerIssue[] = [];
  #lastNumber = 0;
  // Different from the numbers, so that a test notices a client that confuses them.
  #lastId = 700_000;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  /** Returns the issues, newest first, without deleted and moved issues. */
  list(): TrackerIssue[] {
    return this.#issues.filter(({ presence }) => presence.kind === 'present').reverse();
  }

  /** Finds an issue, including deleted and moved issues. */
  find(number: number): TrackerIssue | undefined {
    return this.#issues.find((issue) => issue.number === number);
  }

  findComment(id: number): { issue: TrackerIssue; comment: TrackerComment } | undefined {
    for (const issue of this.list()) {
      const comment = issue.comments.find((candidate) => candidate.id === id);
      if (comment !== undefined) return { issue, comment };
    }
    return undefined;
  }

  create(draft: NewIssue): TrackerIssue {
    const now = new Date();
    const issue: TrackerIssue = {
      id: this.#nextId(),
      number: ++this.#lastNumber,
      title: draft.title,
      body: this.#stored(draft.body),
      state: 'open',
      stateReason: null,
      labels: this.#labelNames(draft.labels),
      assignee: null,
      author: draft.author,
      pullRequest: draft.pullRequest ?? false,
      comments: [],
      createdAt: now,
      updatedAt: now,
      closedAt: null,
      closedBy: null,
      contentVersion: 0,
      confidential: false,
      locked: false,
      presence: { kind: 'present' },
    };
    this.#issues.push(issue);
    this.userId(draft.author);
    return issue;
  }

  edit(issue: TrackerIssue, changes: IssueChanges, by: string): void {
    const { body, labels } = changes;
    const stored = {
      ...changes,
      ...(body === undefined ? {} : { body: this.#stored(body) }),
      ...(labels === undefined ? {} : { labels: this.#labelNames(labels) }),
    };
    applyChanges(issue, stored, by, new Date());
  }

  comment(issue: TrackerIssue, body: string, author: string, system = false): TrackerComment {
    const now = new Date();
    const comment = {
      id: this.#nextId(),
      body: this.#stored(body),
      author,
      system,
      createdAt: now,
      updatedAt: now,
    };
    issue.comments.push(comment);
    this.userId(author);
    issue.updatedAt = now;
    return comment;
  }

  editComment(comment: TrackerComment, body: string): void {
    comment.body = this.#stored(body);
    comment.updatedAt = new Date();
  }

  /** The number of a user; always the same. */
  userId(login: string): number {
    const index = this.#users.indexOf(login);
    return 1_001 + (index === -1 ? this.#users.push(login) - 1 : index);
  }

  /** Whether the user exists. */
  hasUser(login: string): boolean {
    return this.#users.includes(login);
  }

  /** The label of that name, created if missing. @param color of a new label */
  label(name: string, color = 'ededed', isOfOwner = false): TrackerLabel {
    const known = this.findLabel(name);
    if (known !== undefined) return known;
    const label = { id: this.#nextId(), name, color, isOfOwner };
    this.#labels = [...this.#labels, label];
    return label;
  }

  findLabel(name: string): TrackerLabel | undefined {
    const key = (text: string) => (this.#options.labelsIgnoreCase === true ? text.toLowerCase() : text);
    return this.#labels.find((label) => key(label.name) === key(name));
  }

  /** Returns the labels in the order of creation. */
  labels(): readonly TrackerLabel[] {
    return this.#labels;
  }

  /** Runs `action` and reverts its changes. Numbers and ids that it used are not reused. */
  rollBack<Result>(action: () => Result): Result {
    const before = { issues: structuredClone(this.#issues), labels: this.#labels };
    try {
      return action();
    } finally {
      this.#issues = before.issues;
      this.#labels = before.labels;
    }
  }

  /** The issues for tests. */
  visibleIssues(): FakeIssue[] {
    const issues = this.list()
      .reverse()
      .filter(({ pullRequest }) => !pullRequest);
    return issues.map((issue) => ({
      number: issue.number,
      title: issue.title,
      body: issue.body,
      state: issue.state,
      ...(this.#options.stateReasons ? { stateReason: issue.stateReason } : {}),
      labels: [...issue.labels],
      comments: issue.comments
        .filter(({ system }) => !system)
        .map(({ id, body, author }) => ({ id, body, author })),
      updatedAt: issue.updatedAt.toISOString(),
    }));
  }

  #labelNames(names: readonly string[]): string[] {
    return [...new Set(names.map((name) => this.label(name).name))];
  }

  #stored(text: string): string {
    return this.#options.crlf ? text.replace(/\r?\n/g, '\r\n') : text;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}
