export type {
  CheckedFakeTracker,
  FakeComment,
  FakeGitHub,
  FakeIssue,
  FakeTracker,
  FakeTrackerOptions,
  Fault,
  FaultKind,
  GiteaOptions,
  IssueChanges,
  IssueState,
  ProjectSettings,
  RecordedRequest,
} from './fake-tracker.ts';
export { startGitea } from './gitea/gitea.ts';
export { startGitHub } from './github/github.ts';
export { startGitLab } from './gitlab/gitlab.ts';
