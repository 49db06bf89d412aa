import type { FakeContext } from '../server/run-fake.ts';
import type { TrackerComment, TrackerIssue } from '../tracker/tracker-issue.ts';

/** The number of the only project. */
export const PROJECT_ID = 4_711;

/** The JSON of GitLab's issues, notes and users. Its timestamps have milliseconds. */
export class GitLabPresenter {
  readonly #context: FakeContext;

  constructor(context: FakeContext) {
    this.#context = context;
  }

  issue(issue: TrackerIssue): Record<string, unknown> {
    const path = `${this.#context.project.owner}/${this.#context.project.name}`;
    const project = `${this.#context.origin()}/api/v4/projects/${PROJECT_ID}`;
    const self = `${project}/issues/${issue.number}`;
    const short = `#${issue.number}`;
    return {
      id: issue.id,
      iid: issue.number,
      project_id: PROJECT_ID,
      title: issue.title,
      description: issue.body === '' ? null : issue.body,
      state: issue.state === 'open' ? 'opened' : 'closed',
      created_at: issue.createdAt.toISOString(),
      updated_at: issue.updatedAt.toISOString(),
      closed_at: issue.closedAt?.toISOString() ?? null,
      closed_by: issue.closedBy === null ? null : this.user(issue.closedBy),
      labels: issue.labels,
      author: this.user(issue.author),
      user_notes_count: issue.comments.filter(({ system }) => !system).length,
      ...UNUSED,
      assignee: issue.assignee === null ? null : this.user(issue.assignee),
      assignees: issue.assignee === null ? [] : [this.user(issue.assignee)],
      confidential: issue.confidential,
      web_url: `${this.#context.origin()}/${path}/-/issues/${issue.number}`,
      references: { short, relative: short, full: path + short },
      _links: {
        self,
        notes: `${self}/notes`,
        award_emoji: `${self}/award_emoji`,
        project,
        closed_as_duplicate_of: null,
      },
    };
  }

  note(issue: TrackerIssue, note: TrackerComment): Record<string, unknown> {
    return {
      id: note.id,
      type: null,
      body: note.body,
      author: this.user(note.author),
      created_at: note.createdAt.toISOString(),
      updated_at: note.updatedAt.toISOString(),
      system: note.system,
      noteable_id: issue.id,
      noteable_type: 'Issue',
      project_id: PROJECT_ID,
      resolvable: false,
      confidential: false,
      internal: false,
      imported: false,
      imported_from: 'none',
      noteable_iid: issue.number,
      commands_changes: {},
    };
  }

  user(username: string): Record<string, unknown> {
    return {
      id: this.#context.tracker.userId(username),
      username,
      public_email: null,
      name: username,
      state: 'active',
      locked: false,
      avatar_url: null,
      web_url: `${this.#context.origin()}/${encodeURIComponent(username)}`,
    };
  }
}

// Members that every issue has and no test changes.
const UNUSED = {
  milestone: null,
  type: 'ISSUE',
  issue_type: 'issue',
  severity: 'UNKNOWN',
  merge_requests_count: 0,
  upvotes: 0,
  downvotes: 0,
  due_date: null,
  discussion_locked: null,
  time_stats: {
    time_estimate: 0,
    total_time_spent: 0,
    human_time_estimate: null,
    human_total_time_spent: null,
  },
  task_completion_status: { count: 0, completed_count: 0 },
  blocking_issues_count: 0,
  has_tasks: false,
  moved_to_id: null,
  imported: false,
  imported_from: 'none',
  service_desk_reply_to: null,
};
