import type { Issue } from '@tessera/contracts';
import { IssueFiles } from '../files/issue-files-list.tsx';
import { IssueLinks } from './issue-links.tsx';
import { IssueRelations } from './issue-relations.tsx';
import { MoveIssue } from './move-issue.tsx';
import { SyncPanel } from './sync-panel.tsx';
import { WatchButton } from './watch-button.tsx';

/** The parts of the page below the properties. Loaded after the issue is shown. */
export function IssueExtras({ issue }: { issue: Issue }) {
  return (
    <>
      <WatchButton issue={issue} />
      <MoveIssue issue={issue} />
      <IssueRelations issue={issue} />
      <IssueFiles issue={issue} />
      <IssueLinks issue={issue} />
      {issue.sync.state !== 'not_configured' && <SyncPanel issue={issue} />}
    </>
  );
}
