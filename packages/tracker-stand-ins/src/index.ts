export { startGitHub } from './github/github.ts';
export { startGitLab } from './gitlab/gitlab.ts';
export type {
  CheckedStandIn,
  Fault,
  FaultKind,
  GitHubStandIn,
  IssueChanges,
  IssueState,
  RecordedRequest,
  StandIn,
  StandInComment,
  StandInIssue,
  StandInOptions,
} from './stand-in.ts';
