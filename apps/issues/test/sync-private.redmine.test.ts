import { describe } from '@jest/globals';
import axios from 'axios';
import { redmineServer, startRedmineProject } from './support/redmine-project.ts';
import { describePrivate } from './support/sync-private.ts';

describe('a private issue in Redmine', () => {
  describePrivate(async () => {
    const tracker = await startRedmineProject();
    const { url, admin } = redmineServer();
    const headers = { 'X-Redmine-API-Key': admin.key };
    const hide = async (id: string, isPrivate: boolean) => {
      const body = { issue: { is_private: isPrivate } };
      await axios.put(`${url}/issues/${id}.json`, body, { headers, proxy: false });
    };
    return { tracker, hide };
  });
});
