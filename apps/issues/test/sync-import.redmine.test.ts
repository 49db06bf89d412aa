import { describe } from '@jest/globals';
import axios from 'axios';
import { redmineServer, startRedmineProject } from './support/redmine-project.ts';
import { describeImport } from './support/sync-import.ts';

describe('an import from Redmine', () => {
  describeImport(async () => {
    const tracker = await startRedmineProject();
    const { url, admin } = redmineServer();
    const headers = { 'X-Redmine-API-Key': admin.key };
    const hide = async (id: string) => {
      const body = { issue: { is_private: true } };
      await axios.put(`${url}/issues/${id}.json`, body, { headers, proxy: false });
    };
    return { tracker, hide };
  });
});
