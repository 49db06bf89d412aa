import type { FakeContext } from '../server/run-fake.ts';
import type { TrackerLabel } from '../tracker/tracker.ts';
import type { TrackerComment, TrackerIssue } from '../tracker/tracker-issue.ts';

const REPOSITORY_ID = 88;

/** Gitea's timestamps have whole seconds. */
export function seconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** The JSON of Gitea's issues, comments, labels and users. */
export class GiteaPresenter {
  readonly #context: FakeContext;
  readonly #contentVersion: boolean;

  constructor(context: FakeContext, contentVersion: boolean) {
    this.#context = context;
    this.#contentVersion = contentVersion;
  }

  issue(issue: TrackerIssue): Record<string, unknown> {
    const { owner, name } = this.#context.project;
    const page = this.#page(issue);
    const meta = { merged: false, merged_at: null, draft: false, html_url: page };
    return {
      id: issue.id,
      url: `${this.#repositoryUrl()}/issues/${issue.number}`,
      html_url: page,
      number: issue.number,
      user: this.user(issue.author),
      original_author: '',
      original_author_id: 0,
      title: issue.title,
      body: issue.body,
      ref: '',
      assets: [],
      labels: issue.labels.map((label) => this.label(this.#context.tracker.label(label))),
      milestone: null,
      assignee: issue.assignee === null ? null : this.user(issue.assignee),
      assignees: issue.assignee === null ? null : [this.user(issue.assignee)],
      state: issue.state,
      is_locked: false,
      comments: issue.comments.length,
      created_at: seconds(issue.createdAt),
      updated_at: seconds(issue.updatedAt),
      closed_at: issue.closedAt === null ? null : seconds(issue.closedAt),
      due_date: null,
      time_estimate: 0,
      pull_request: issue.pullRequest ? meta : null,
      repository: { id: REPOSITORY_ID, name, owner, full_name: `${owner}/${name}` },
      pin_order: 0,
      ...(this.#contentVersion ? { content_version: issue.contentVersion } : {}),
    };
  }

  comment(issue: TrackerIssue, comment: TrackerComment): Record<string, unknown> {
    return {
      id: comment.id,
      html_url: `${this.#page(issue)}#issuecomment-${comment.id}`,
      pull_request_url: issue.pullRequest ? this.#page(issue) : '',
      issue_url: issue.pullRequest ? '' : this.#page(issue),
      user: this.user(comment.author),
      original_author: '',
      original_author_id: 0,
      body: comment.body,
      assets: [],
      created_at: seconds(comment.createdAt),
      updated_at: seconds(comment.updatedAt),
    };
  }

  label({ id, name, color }: TrackerLabel): Record<string, unknown> {
    const url = `${this.#repositoryUrl()}/labels/${id}`;
    return { id, name, exclusive: false, is_archived: false, color, description: '', url };
  }

  user(login: string): Record<string, unknown> {
    const id = this.#context.tracker.userId(login);
    return {
      id,
      login,
      login_name: '',
      source_id: 0,
      full_name: '',
      email: `${login}@noreply.gitea.example`,
      avatar_url: `${this.#context.origin()}/avatars/${id}`,
      html_url: `${this.#context.origin()}/${encodeURIComponent(login)}`,
      language: '',
      is_admin: false,
      last_login: '0001-01-01T00:00:00Z',
      created: '2020-01-01T00:00:00Z',
      restricted: false,
      active: false,
      prohibit_login: false,
      location: '',
      website: '',
      description: '',
      visibility: 'public',
      followers_count: 0,
      following_count: 0,
      starred_repos_count: 0,
      username: login,
    };
  }

  #page({ number, pullRequest }: TrackerIssue): string {
    const { owner, name } = this.#context.project;
    return `${this.#context.origin()}/${owner}/${name}/${pullRequest ? 'pulls' : 'issues'}/${number}`;
  }

  #repositoryUrl(): string {
    const { owner, name } = this.#context.project;
    return `${this.#context.origin()}/api/v1/repos/${owner}/${name}`;
  }
}
