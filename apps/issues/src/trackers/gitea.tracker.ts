import type { IssueStatus } from '@tessera/contracts';
import {
  isDone,
  type LocalState,
  type RemoteChange,
  type RemoteIssue,
  stepForTwoStates,
} from './external-tracker.ts';
import { type ForgeApi, GitHubTracker } from './github.tracker.ts';
import type { TrackerConfig, TrackerContext } from './tracker-config.ts';
import { GiteaLabels } from './tracker-labels.ts';
import { outboundText } from './tracker-text.ts';

function giteaApi(token: string): ForgeApi {
  return {
    root: '/api/v1',
    headers: { Authorization: `token ${token}` },
    // The time is longer than a proxy delays an accepted request.
    settleSeconds: 120,
    writeIntervalMs: 0,
    creatorQuery: (login) => ({ created_by: login, type: 'issues', limit: 50 }),
    changesQuery: { type: 'issues', limit: 50 },
    // The list cannot be ordered by update; it begins with the newest issue.
    ordersChanges: false,
    commentsQuery: {},
    Labels: GiteaLabels,
  };
}

/**
 * The REST API of Gitea and Forgejo, version 1 (docs.gitea.com/api, forgejo.org/docs/latest/user/api-usage), which is
 * modelled on GitHub's.
 */
export class GiteaTracker extends GitHubTracker {
  override readonly provider = 'gitea';

  constructor(config: TrackerConfig, context: TrackerContext) {
    super(config, context, giteaApi(config.token));
  }

  override stateOf({ status }: LocalState): string {
    return isDone(status) ? 'closed' : 'open';
  }

  override isReached(state: string, wanted: string): boolean {
    return state === wanted;
  }

  override statusOf(state: string, local: IssueStatus): IssueStatus {
    return stepForTwoStates(state !== 'closed', 'RESOLVED', local);
  }

  protected override toBody(
    { title, description, state }: RemoteChange,
    marker: string,
    seen?: RemoteIssue,
  ): object {
    return {
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { body: outboundText(description, marker, 'markdown') }),
      ...(state === undefined ? {} : { state }),
      // Newer versions respond 409 if the text has changed since then; older versions ignore the member.
      ...(seen === undefined || seen.revision === null ? {} : { content_version: Number(seen.revision) }),
    };
  }

  protected override toState({ state }: { state: string }): string {
    return state;
  }
}
