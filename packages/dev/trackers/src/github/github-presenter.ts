import { BOT, type FakeContext } from '../server/run-fake.ts';
import type { TrackerLabel } from '../tracker/tracker.ts';
import type { TrackerComment, TrackerIssue } from '../tracker/tracker-issue.ts';

/** GitHub's timestamps have whole seconds. */
export function seconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** The JSON of GitHub's issues, comments and users. */
export class GitHubPresenter {
  readonly #context: FakeContext;

  constructor(context: FakeContext) {
    this.#context = context;
  }

  issueUrl(number: number): string {
    return `${this.#repositoryUrl()}/issues/${number}`;
  }

  /** The members that clients of issues need. */
  repository(): Record<string, unknown> {
    const { project, settings } = this.#context;
    const { issuesEnabled, archived } = settings;
    return {
      full_name: `${project.owner}/${project.name}`,
      has_issues: issuesEnabled,
      archived,
    };
  }

  issue(issue: TrackerIssue): Record<string, unknown> {
    const url = this.issueUrl(issue.number);
    const page = `${this.#page()}/${issue.pullRequest ? 'pull' : 'issues'}/${issue.number}`;
    return {
      id: issue.id,
      node_id: nodeId('Issue', issue.id),
      url,
      repository_url: this.#repositoryUrl(),
      labels_url: `${url}/labels{/name}`,
      comments_url: `${url}/comments`,
      events_url: `${url}/events`,
      timeline_url: `${url}/timeline`,
      html_url: page,
      number: issue.number,
      state: issue.state,
      state_reason: issue.stateReason,
      title: issue.title,
      body: issue.body === '' ? null : issue.body,
      user: this.user(issue.author),
      labels: issue.labels.map((name) => this.label(this.#context.tracker.label(name))),
      assignee: issue.assignee === null ? null : this.user(issue.assignee),
      assignees: issue.assignee === null ? [] : [this.user(issue.assignee)],
      milestone: null,
      locked: issue.locked,
      active_lock_reason: null,
      comments: issue.comments.length,
      ...(issue.pullRequest ? { draft: false, pull_request: this.#pullRequest(issue.number, page) } : {}),
      closed_at: issue.closedAt === null ? null : seconds(issue.closedAt),
      closed_by: issue.closedBy === null ? null : this.user(issue.closedBy),
      created_at: seconds(issue.createdAt),
      updated_at: seconds(issue.updatedAt),
      author_association: this.#association(issue.author),
      performed_via_github_app: null,
      reactions: reactions(url),
    };
  }

  comment(issue: TrackerIssue, comment: TrackerComment): Record<string, unknown> {
    const url = `${this.#repositoryUrl()}/issues/comments/${comment.id}`;
    return {
      id: comment.id,
      node_id: nodeId('IssueComment', comment.id),
      url,
      html_url: `${this.#page()}/issues/${issue.number}#issuecomment-${comment.id}`,
      issue_url: this.issueUrl(issue.number),
      body: comment.body,
      user: this.user(comment.author),
      created_at: seconds(comment.createdAt),
      updated_at: seconds(comment.updatedAt),
      author_association: this.#association(comment.author),
      performed_via_github_app: null,
      reactions: reactions(url),
    };
  }

  user(login: string): Record<string, unknown> {
    const id = this.#context.tracker.userId(login);
    const url = `${this.#context.origin()}/api/v3/users/${encodeURIComponent(login)}`;
    return {
      login,
      id,
      node_id: nodeId('User', id),
      avatar_url: `${this.#context.origin()}/avatars/u/${id}?v=4`,
      gravatar_id: '',
      url,
      html_url: `${this.#context.origin()}/${encodeURIComponent(login)}`,
      followers_url: `${url}/followers`,
      following_url: `${url}/following{/other_user}`,
      gists_url: `${url}/gists{/gist_id}`,
      starred_url: `${url}/starred{/owner}{/repo}`,
      subscriptions_url: `${url}/subscriptions`,
      organizations_url: `${url}/orgs`,
      repos_url: `${url}/repos`,
      events_url: `${url}/events{/privacy}`,
      received_events_url: `${url}/received_events`,
      type: 'User',
      user_view_type: 'public',
      site_admin: false,
    };
  }

  label({ id, name, color }: TrackerLabel): Record<string, unknown> {
    return {
      id,
      node_id: nodeId('Label', id),
      url: `${this.#repositoryUrl()}/labels/${encodeURIComponent(name)}`,
      name,
      color,
      default: false,
      description: null,
    };
  }

  #pullRequest(number: number, page: string): Record<string, unknown> {
    const url = `${this.#repositoryUrl()}/pulls/${number}`;
    return { url, html_url: page, diff_url: `${page}.diff`, patch_url: `${page}.patch`, merged_at: null };
  }

  #association(login: string): string {
    return login === BOT ? 'COLLABORATOR' : 'MEMBER';
  }

  #repositoryUrl(): string {
    const { owner, name } = this.#context.project;
    return `${this.#context.origin()}/api/v3/repos/${owner}/${name}`;
  }

  #page(): string {
    const { owner, name } = this.#context.project;
    return `${this.#context.origin()}/${owner}/${name}`;
  }
}

function nodeId(type: string, id: number): string {
  return Buffer.from(`0${type.length}:${type}${id}`).toString('base64');
}

function reactions(url: string): Record<string, unknown> {
  const none = { '+1': 0, '-1': 0, laugh: 0, hooray: 0, confused: 0, heart: 0, rocket: 0, eyes: 0 };
  return { url: `${url}/reactions`, total_count: 0, ...none };
}
