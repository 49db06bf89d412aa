export type {
  RedmineAccounts,
  RedmineServer,
  RunningRedmine,
  SeededIssues,
} from './redmine-server.ts';
export { canRunRedmine, startRedmine } from './redmine-server.ts';
