import type { IssueChanges, StandInIssue } from '../stand-in.ts';
import { applyChanges, type NewIssue, type TrackerComment, type TrackerIssue } from './tracker-issue.ts';

export interface TrackerOptions {
  readonly crlf: boolean;
  /** Whether the issues shown outside carry `stateReason`. */
  readonly stateReasons: boolean;
}

/** The issues of one project, free of any protocol. Numbers and ids are never given twice. */
export class Tracker {
  readonly #options: TrackerOptions;
  readonly #users: string[] = [];
  readonly #labels: string[] = [];
  #issues: TrackerIssue[] = [];
  #lastNumber = 0;
  // Far from the numbers, so that a client that takes one for the other is found out.
  #lastId = 700_000;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  /** Newest first, those that are gone left out. */
  list(): TrackerIssue[] {
    return this.#issues.filter(({ fate }) => fate.kind === 'present').reverse();
  }

  /** Also finds what was deleted or moved. */
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
      labels: [...new Set(draft.labels)],
      author: draft.author,
      pullRequest: draft.pullRequest ?? false,
      comments: [],
      createdAt: now,
      updatedAt: now,
      closedAt: null,
      closedBy: null,
      contentVersion: 0,
      fate: { kind: 'present' },
    };
    this.#issues.push(issue);
    return issue;
  }

  edit(issue: TrackerIssue, changes: IssueChanges, by: string): void {
    const stored = changes.body === undefined ? changes : { ...changes, body: this.#stored(changes.body) };
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
    issue.updatedAt = now;
    return comment;
  }

  editComment(comment: TrackerComment, body: string): void {
    comment.body = this.#stored(body);
    comment.updatedAt = new Date();
  }

  /** A number for a person, the same at each call. */
  userId(login: string): number {
    return 1_000 + indexIn(this.#users, login);
  }

  /** A number for a label, the same at each call. */
  labelId(name: string): number {
    return 500 + indexIn(this.#labels, name);
  }

  labels(): { id: number; name: string }[] {
    return this.#labels.map((name) => ({ id: this.labelId(name), name }));
  }

  /** Runs `action` and takes its changes back; numbers and ids it used stay used. */
  undone<Result>(action: () => Result): Result {
    const before = structuredClone(this.#issues);
    try {
      return action();
    } finally {
      this.#issues = before;
    }
  }

  /** The issues as tests see them. */
  shown(): StandInIssue[] {
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

  #stored(text: string): string {
    return this.#options.crlf ? text.replace(/\r?\n/g, '\r\n') : text;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

function indexIn(names: string[], name: string): number {
  const index = names.indexOf(name);
  return index === -1 ? names.push(name) - 1 : index;
}
