import type { IncomingHttpHeaders } from 'node:http';

/** A fake tracker: a server on 127.0.0.1 and the issues that it keeps in this process. */
export interface FakeTracker {
  /** The base URL for clients. GitHub: `<origin>/api/v3`, as on GitHub Enterprise Server; others: the origin. */
  readonly url: string;
  /** The only valid credential. */
  readonly token: string;
  /** The account of the token. */
  readonly botLogin: string;
  /** Every request since the start, in order of arrival. An entry is complete when the response has been sent. */
  readonly requests: readonly RecordedRequest[];
  /** The current issues, oldest first, without deleted and moved issues and pull requests. */
  issues(): FakeIssue[];
  /** Creates an issue as another user. @returns its number */
  createIssue(issue: { title: string; body?: string }): number;
  /** Edits an issue as another user on the tracker's own pages. @throws RangeError for an unknown issue */
  editIssue(number: number, changes: IssueChanges): void;
  /** The labels of the project. */
  labels(): FakeLabel[];
  /**
   * Creates a label as another user. `ofOwner` (Gitea only): a label of the organization that owns the repository; without
   * one, a user owns it. @param color six hexadecimal digits
   */
  createLabel(name: string, color: string, options?: { readonly ofOwner: boolean }): void;
  /** Adds a comment as another user. @returns the comment's id */
  addComment(number: number, body: string, author?: string): number;
  /** Deletes an issue: GitHub then answers 410, GitLab and Gitea 404. */
  deleteIssue(number: number): void;
  /** Moves an issue (GitHub only): GitHub then answers 301. @param location null sends an empty `Location` */
  moveIssue?(number: number, location: string | null): void;
  /** Changes the settings of the project. */
  setProject(settings: Partial<ProjectSettings>): void;
  /** Adds a fault. A request triggers at most one: the oldest that matches and is not used up. */
  fail(fault: Fault): void;
  clearFaults(): void;
  /** Stops the server and destroys open sockets. */
  close(): Promise<void>;
  /** Starts an outage: refuses connections and drops requests; the issues remain. */
  stop(): Promise<void>;
  /** Ends the outage, on the same port. */
  restart(): Promise<void>;
}

/** A fake that checks requests and responses against a published API description. */
export interface CheckedFakeTracker extends FakeTracker {
  /** One line for each request or response that violates the description. */
  violations(): string[];
}

/** The settings of a project that affect its issues. */
export interface ProjectSettings {
  issuesEnabled: boolean;
  archived: boolean;
  /** Whether the token may only read. */
  isReadOnly: boolean;
}

/** The fake GitHub. */
export interface FakeGitHub extends CheckedFakeTracker {
  moveIssue(number: number, location: string | null): void;
}

/** `open` or `closed` for every tracker; GitLab itself says `opened`. */
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
  /** Comments by users, oldest first, without the notes that the tracker itself writes. */
  readonly comments: readonly FakeComment[];
  /** RFC 3339, UTC, milliseconds; responses have the tracker's own resolution. */
  readonly updatedAt: string;
}

export interface FakeLabel {
  readonly name: string;
  /** Six hexadecimal digits. */
  readonly color: string;
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
  /** The login of the only assignee; null: none. */
  readonly assignee?: string | null;
  /** GitHub only: whether comments are rejected. */
  readonly locked?: boolean;
  /** GitLab only. */
  readonly confidential?: boolean;
}

export interface RecordedRequest {
  readonly method: string;
  /** The path as received, with the base path and without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The headers without credentials. */
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; undefined without a body or for invalid JSON. */
  readonly body: unknown;
  /** Null until the response has been sent, and if the socket was destroyed. */
  readonly status: number | null;
  readonly at: Date;
}

/**
 * - `latency`: waits `ms` or for `until`, then processes the request and responds, even if the client has disconnected
 * - `status`: responds with `status`, `headers` and `body` without processing the request
 * - `status_after`: processes the request, then responds with `status`, `headers` and `body`
 * - `reset_before`: destroys the socket without processing the request
 * - `reset_after`: processes the request, then destroys the socket without a response
 * - `truncated_json`: processes the request and sends a valid HTTP response with half of the JSON
 * - `slow_body`: processes the request, sends the headers at once and the body in pieces over `ms`
 * - `silent_drop`: responds as usual, but does not process the request
 */
export type FaultKind =
  | 'latency'
  | 'status'
  | 'status_after'
  | 'reset_before'
  | 'reset_after'
  | 'truncated_json'
  | 'slow_body'
  | 'silent_drop';

export interface Fault {
  readonly kind: FaultKind;
  /** The matching requests. Default: all. `path` is tested against the recorded path. */
  readonly on?: { readonly method?: string; readonly path?: RegExp };
  /** The number of requests. Default: 1; `Infinity`: until `clearFaults()`. */
  readonly times?: number;
  /** For `latency` and `slow_body`, in milliseconds. Default: 1000. */
  readonly ms?: number;
  /** For `latency`: in place of `ms`. */
  readonly until?: Promise<void>;
  /** For `status` and `status_after`. Default: 500. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent unchanged, other values as JSON. */
  readonly body?: unknown;
}

export interface FakeTrackerOptions {
  /** Default: a free port. */
  readonly port?: number;
  /** `owner/repository`, for GitLab `group/project`. Default: `tessera/tracker`. */
  readonly project?: string;
  /** The page size when the client sends none. Default: the tracker's own. */
  readonly defaultPageSize?: number;
  /** Whether the tracker stores texts with CRLF line ends, as a browser's form sends them. */
  readonly crlf?: boolean;
  /** GitHub and Gitea: whether the project starts with an open pull request, number 1, which issue lists contain. */
  readonly withPullRequest?: boolean;
}

export interface GiteaOptions extends FakeTrackerOptions {
  /** Whether issues have `content_version`. Default: true. Forgejo and older versions of Gitea have none. */
  readonly contentVersion?: boolean;
}
