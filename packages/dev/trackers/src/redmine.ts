export type {
  RedmineAccounts,
  RedmineServer,
  RunningRedmine,
  SeededIssues,
} from './redmine/redmine-server.ts';
export { canRunRedmine, startRedmine } from './redmine/redmine-server.ts';
