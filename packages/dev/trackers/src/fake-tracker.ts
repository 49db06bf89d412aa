import type { IncomingHttpHeaders } from 'node:http';

/** A tracker that lives in this process: a server on 127.0.0.1 and the issues behind it. */
export interface FakeTracker {
  /** What a client is given as its base URL. GitHub: `<origin>/api/v3`, as on GitHub Enterprise Server; others: the origin. */
  readonly url: string;
  /** The only credential accepted. */
  readonly token: string;
  /** The account that the token belongs to. */
  readonly botLogin: string;
  /** Every request since the start, in order of arrival; an entry is completed when it is answered. */
  readonly requests: readonly RecordedRequest[];
  /** The issues as they stand, oldest first, without deleted and moved ones and without pull requests. */
  issues(): FakeIssue[];
  /** Someone else edits the issue on the tracker's own pages. @throws RangeError when there is none */
  editIssue(number: number, changes: IssueChanges): void;
  /** Someone else comments. @returns the comment's id */
  addComment(number: number, body: string, author?: string): number;
  /** Afterwards GitHub answers 410 for it, GitLab and Gitea 404. */
  deleteIssue(number: number): void;
  /** GitHub only: afterwards answered by 301. @param location null answers with an empty `Location` */
  moveIssue?(number: number, location: string | null): void;
  /** Adds a fault. A request meets at most one: the oldest that matches it and is not used up. */
  fail(fault: Fault): void;
  clearFaults(): void;
  /** Ends the server for good and destroys open sockets. */
  close(): Promise<void>;
  /** An outage: connections are refused, what was under way is dropped, the issues stay. */
  stop(): Promise<void>;
  /** Ends the outage, on the same port. */
  restart(): Promise<void>;
}

/** Trackers that can be told to hold every request and answer against a published API description. */
export interface CheckedFakeTracker extends FakeTracker {
  /** One line for each request or answer that the description does not allow. */
  violations(): string[];
}

/** The fake GitHub. */
export interface FakeGitHub extends CheckedFakeTracker {
  moveIssue(number: number, location: string | null): void;
}

/** `open` and `closed` for every tracker, though GitLab's own word is `opened`. */
export type IssueState = 'open' | 'closed';

export interface FakeIssue {
  /** Unique in the project (GitLab: iid). */
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: IssueState;
  /** GitHub only: `completed`, `not_planned`, `duplicate`, `reopened`, or null. */
  readonly stateReason?: string | null;
  readonly labels: readonly string[];
  /** What people wrote, oldest first; notes that the tracker writes itself are left out. */
  readonly comments: readonly FakeComment[];
  /** RFC 3339, UTC, milliseconds; on the wire in the tracker's own resolution. */
  readonly updatedAt: string;
}

export interface FakeComment {
  readonly id: number;
  readonly body: string;
  readonly author: string;
}

export interface IssueChanges {
  readonly title?: string;
  readonly body?: string;
  readonly state?: IssueState;
  readonly stateReason?: string | null;
  readonly labels?: readonly string[];
}

export interface RecordedRequest {
  readonly method: string;
  /** As it arrived, with the base path, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Without the ones that carry credentials. */
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; undefined when there was none or it was not JSON. */
  readonly body: unknown;
  /** Null until answered, and for good when the socket was destroyed instead. */
  readonly status: number | null;
  readonly at: Date;
}

/**
 * - `latency`: waits `ms`, then carries the request out and answers, whether or not the client still waits
 * - `status`: answers `status` with `headers` and `body`; nothing is carried out
 * - `reset_before`: destroys the socket; nothing is carried out
 * - `reset_after`: carries the request out, then destroys the socket without an answer
 * - `truncated_json`: carries it out and answers well-formed HTTP with half of the JSON
 * - `slow_body`: carries it out, sends the headers at once and the body in pieces over `ms`
 * - `silent_drop`: answers as if it had been carried out, but it was not
 */
export type FaultKind =
  | 'latency'
  | 'status'
  | 'reset_before'
  | 'reset_after'
  | 'truncated_json'
  | 'slow_body'
  | 'silent_drop';

export interface Fault {
  readonly kind: FaultKind;
  /** Which requests it meets; all when left out. `path` is tested against the recorded path. */
  readonly on?: { readonly method?: string; readonly path?: RegExp };
  /** How many requests it meets: 1 unless told; `Infinity` until `clearFaults()`. */
  readonly times?: number;
  /** `latency` and `slow_body`, in milliseconds; 1000 unless told. */
  readonly ms?: number;
  /** `status`; 500 unless told. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

export interface FakeTrackerOptions {
  /** A free one unless told. */
  readonly port?: number;
  /** `owner/repository`, for GitLab `group/project`; `tessera/tracker` unless told. */
  readonly project?: string;
  /** Answered when the client names no page size; the tracker's own default unless told. */
  readonly defaultPageSize?: number;
  /** The tracker keeps texts with CRLF line ends, as a browser's form sends them. */
  readonly crlf?: boolean;
  /** GitHub and Gitea: the project starts with an open pull request by the bot, number 1, listed among the issues. */
  readonly withPullRequest?: boolean;
}

export interface GiteaOptions extends FakeTrackerOptions {
  /** Whether issues carry `content_version` and edits may; true unless told. Forgejo and older Gitea have none. */
  readonly contentVersion?: boolean;
}
