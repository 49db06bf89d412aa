import { describe, expect, it } from '@jest/globals';
import { startGitea, startGitHub, startGitLab } from '../src/fakes.ts';
import { send } from './support/client.ts';

const ISSUES = '/repos/tessera/tracker/issues';

describe('a tracker that stores CRLF', () => {
  it('converts each line end of a text to CRLF once', async () => {
    const tracker = await startGitHub({ crlf: true });
    try {
      await send(tracker, 'POST', ISSUES, { body: { title: 'One', body: 'a\nb\r\nc' } });
      await send(tracker, 'POST', `${ISSUES}/1/comments`, { body: { body: 'd\ne' } });

      expect(tracker.issues()).toMatchObject([{ body: 'a\r\nb\r\nc', comments: [{ body: 'd\r\ne' }] }]);
    } finally {
      await tracker.close();
    }
  });
});

describe('another user', () => {
  it('edits, comments and closes on the tracker; the next read shows it', async () => {
    const tracker = await startGitHub({ project: 'acme/shop' });
    const path = '/repos/acme/shop/issues';
    try {
      await send(tracker, 'POST', path, { body: { title: 'One', body: 'mine' } });
      tracker.editIssue(1, {
        title: 'Uno',
        body: 'theirs',
        labels: ['x'],
        state: 'closed',
        stateReason: 'duplicate',
      });
      const id = tracker.addComment(1, 'why not');

      expect((await send(tracker, 'GET', `${path}/1`)).body).toMatchObject({
        title: 'Uno',
        body: 'theirs',
        state: 'closed',
        state_reason: 'duplicate',
        labels: [{ name: 'x' }],
        comments: 1,
        closed_by: { login: 'maintainer' },
      });
      expect(tracker.issues()).toMatchObject([{ comments: [{ id, body: 'why not', author: 'maintainer' }] }]);
      expect(tracker.violations()).toEqual([]);
    } finally {
      await tracker.close();
    }
  });

  it('cannot edit, comment on or delete an unknown issue', async () => {
    const tracker = await startGitHub();
    try {
      expect(() => tracker.editIssue(1, { title: 'x' })).toThrow(RangeError);
      expect(() => tracker.addComment(1, 'x')).toThrow(RangeError);
      expect(() => tracker.deleteIssue(1)).toThrow(RangeError);
      expect(() => tracker.moveIssue(1, null)).toThrow(RangeError);
    } finally {
      await tracker.close();
    }
  });

  it('rejects a project without an owner', async () => {
    await expect(startGitHub({ project: 'tracker' })).rejects.toThrow(RangeError);
  });
});

describe('options', () => {
  it.each([
    ['GitHub', startGitHub, '/repos/acme/shop/issues'],
    ['GitLab', startGitLab, '/api/v4/projects/acme%2Fshop/issues'],
    ['Gitea', startGitea, '/api/v1/repos/acme/shop/issues'],
  ])('%s: project, page size, and the port of a closed fake', async (_, start, path) => {
    const first = await start();
    const { port, host } = new URL(first.url);
    await first.close();
    const tracker = await start({ port: Number(port), project: 'acme/shop', defaultPageSize: 2 });
    try {
      for (const title of ['1', '2', '3']) await send(tracker, 'POST', path, { body: { title } });

      expect(new URL(tracker.url).host).toBe(host);
      expect((await send(tracker, 'GET', path)).body).toHaveLength(2);
      expect((await send(tracker, 'GET', `${path}?page=2`)).body).toMatchObject([{ title: '1' }]);
    } finally {
      await tracker.close();
    }
  });

  it('accepts a nested group on GitLab', async () => {
    const tracker = await startGitLab({ project: 'acme/web/shop' });
    try {
      const reply = await send(tracker, 'GET', '/api/v4/projects/acme%2Fweb%2Fshop/issues');

      expect([reply.status, reply.body]).toEqual([200, []]);
    } finally {
      await tracker.close();
    }
  });
});
