import { describe, expect, it } from '@jest/globals';
import { startGitHub } from '../src/index.ts';
import { send } from './support/client.ts';

const ISSUES = '/repos/tessera/tracker/issues';

describe('a tracker that keeps CRLF', () => {
  it('turns each line end of a text into CRLF once', async () => {
    const standIn = await startGitHub({ crlf: true });
    try {
      await send(standIn, 'POST', ISSUES, { body: { title: 'One', body: 'a\nb\r\nc' } });
      await send(standIn, 'POST', `${ISSUES}/1/comments`, { body: { body: 'd\ne' } });

      expect(standIn.issues()).toMatchObject([{ body: 'a\r\nb\r\nc', comments: [{ body: 'd\r\ne' }] }]);
    } finally {
      await standIn.close();
    }
  });
});

describe('someone else', () => {
  it('edits, comments and closes on the tracker, as the next read shows', async () => {
    const standIn = await startGitHub({ project: 'acme/shop' });
    const path = '/repos/acme/shop/issues';
    try {
      await send(standIn, 'POST', path, { body: { title: 'One', body: 'mine' } });
      standIn.editIssue(1, {
        title: 'Uno',
        body: 'theirs',
        labels: ['x'],
        state: 'closed',
        stateReason: 'duplicate',
      });
      const id = standIn.addComment(1, 'why not');

      expect((await send(standIn, 'GET', `${path}/1`)).body).toMatchObject({
        title: 'Uno',
        body: 'theirs',
        state: 'closed',
        state_reason: 'duplicate',
        labels: [{ name: 'x' }],
        comments: 1,
        closed_by: { login: 'maintainer' },
      });
      expect(standIn.issues()).toMatchObject([{ comments: [{ id, body: 'why not', author: 'maintainer' }] }]);
      expect(standIn.violations()).toEqual([]);
    } finally {
      await standIn.close();
    }
  });

  it('cannot edit, comment or delete what is not there', async () => {
    const standIn = await startGitHub();
    try {
      expect(() => standIn.editIssue(1, { title: 'x' })).toThrow(RangeError);
      expect(() => standIn.addComment(1, 'x')).toThrow(RangeError);
      expect(() => standIn.deleteIssue(1)).toThrow(RangeError);
      expect(() => standIn.moveIssue(1, null)).toThrow(RangeError);
    } finally {
      await standIn.close();
    }
  });

  it('is refused a project without an owner', async () => {
    await expect(startGitHub({ project: 'tracker' })).rejects.toThrow(RangeError);
  });
});
