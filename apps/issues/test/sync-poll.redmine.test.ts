import { describe } from '@jest/globals';
import { startRedmineProject } from './support/redmine-project.ts';
import { describePoll } from './support/sync-poll.ts';

describe('changes in Redmine', () => {
  describePoll(startRedmineProject);
});
