import { z } from 'zod';
import type { RemoteComment, RemoteIssue } from './external-tracker.ts';
import { TrackerError } from './tracker-error.ts';
import { canonicalText, canonicalTitle } from './tracker-text.ts';
import type { TrackerTransport } from './tracker-transport.ts';

// What GitHub's API and Gitea's, which is made after it, have in common.

const time = z.iso.datetime({ offset: true });
const userSchema = z.object({ login: z.string() });

export const forgeIssueSchema = z.object({
  number: z.int().positive(),
  html_url: z.string(),
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  /** GitHub alone. */
  state_reason: z.string().nullish(),
  created_at: time,
  updated_at: time,
  pull_request: z.unknown().nullish(),
  /** Newer versions of Gitea alone. */
  content_version: z.int().nullish(),
});
export type ForgeIssue = z.output<typeof forgeIssueSchema>;

export const forgeCommentSchema = z.object({
  id: z.int().positive(),
  body: z.string().nullish(),
  user: userSchema.nullish(),
  created_at: time,
});

/** The path of a project's issues: `owner/repository` in two segments. */
export function forgeIssuesPath(project: string): string {
  return `/repos/${project.split('/').map(encodeURIComponent).join('/')}/issues`;
}

/** Issues and pull requests are numbered together, and both are answered as issues. */
export function isPullRequest({ pull_request: pullRequest }: ForgeIssue): boolean {
  return pullRequest !== undefined && pullRequest !== null;
}

/** Throws a `gone` error for a pull request. */
export function assertIssue(issue: ForgeIssue): ForgeIssue {
  if (isPullRequest(issue)) throw new TrackerError('gone', 'a pull request, not an issue');
  return issue;
}

/** The issues of pages that carry a marker. */
export function withMarker(pages: readonly ForgeIssue[][], marker: string): ForgeIssue[] {
  return pages.flat().filter((issue) => !isPullRequest(issue) && issue.body?.includes(marker));
}

export function toRemoteIssue(issue: ForgeIssue, state: string): RemoteIssue {
  const { content_version: version } = issue;
  return {
    id: String(issue.number),
    key: `#${issue.number}`,
    url: issue.html_url,
    title: canonicalTitle(issue.title),
    description: canonicalText(issue.body ?? ''),
    state,
    priority: null,
    createdAt: new Date(issue.created_at),
    updatedAt: new Date(issue.updated_at),
    revision: version === undefined || version === null ? null : String(version),
  };
}

export function toRemoteComment(comment: z.output<typeof forgeCommentSchema>): RemoteComment {
  return {
    id: String(comment.id),
    body: comment.body ?? '',
    author: comment.user?.login ?? null,
    createdAt: new Date(comment.created_at),
  };
}

/** Whom our credential is of: asked once, where it is not configured. */
export class ForgeAccount {
  readonly #transport: TrackerTransport;
  readonly #path: string;
  #login: string | undefined;

  constructor(transport: TrackerTransport, path: string, login: string | undefined) {
    this.#transport = transport;
    this.#path = path;
    this.#login = login;
  }

  async login(signal: AbortSignal): Promise<string> {
    const request = { method: 'GET', path: this.#path, signal } as const;
    this.#login ??= (await this.#transport.read(request, userSchema)).login;
    return this.#login;
  }
}
