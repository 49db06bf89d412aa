export { startGitea } from './gitea/gitea.ts';
export { startGitHub } from './github/github.ts';
export { startGitLab } from './gitlab/gitlab.ts';
export type {
  CheckedStandIn,
  Fault,
  FaultKind,
  GiteaOptions,
  GitHubStandIn,
  IssueChanges,
  IssueState,
  RecordedRequest,
  StandIn,
  StandInComment,
  StandInIssue,
  StandInOptions,
} from './stand-in.ts';
