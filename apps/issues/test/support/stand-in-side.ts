import type { TrackerProvider } from '@tessera/contracts';
import { rememberSecret } from '@tessera/testing/leaks';
import {
  type CheckedFakeTracker,
  type FakeTracker,
  startGitea,
  startGitHub,
  startGitLab,
} from '@tessera/trackers/fakes';
import type { FarSide } from './far-side.ts';

export type StandInSide = FarSide & { standIn: FakeTracker };

const project = 'acme/website';
const starts = { github: startGitHub, gitlab: startGitLab, gitea: startGitea } as const;

/** A stand-in for a tracker that cannot be installed here, with the hands of somebody who works in it. */
export async function startStandInSide(provider: Exclude<TrackerProvider, 'redmine'>): Promise<StandInSide> {
  const standIn = await starts[provider]({ project });
  return {
    standIn,
    provider,
    url: standIn.url,
    project,
    token: rememberSecret(standIn.token),
    words: { open: 'open', done: 'closed' },
    commentsPage: provider === 'gitea' ? 0 : 100,
    issues: async () =>
      standIn.issues().map(({ number, title, body, state, comments }) => ({
        id: String(number),
        title,
        text: body,
        isOpen: state === 'open',
        state,
        comments: comments.map(({ author, body: text }) => ({ author, body: text })),
      })),
    edit: async (id, { title, text, state }) => {
      standIn.editIssue(Number(id), {
        ...(title === undefined ? {} : { title }),
        ...(text === undefined ? {} : { body: text }),
        ...(state === undefined ? {} : { state: state === 'open' ? 'open' : 'closed' }),
      });
    },
    comment: async (id, body) => {
      standIn.addComment(Number(id), body);
    },
    remove: async (id) => standIn.deleteIssue(Number(id)),
    slowDown: () => standIn.fail({ kind: 'latency', ms: 1_500, on: { method: 'POST' } }),
    close: async () => {
      await standIn.close();
      const violations = 'violations' in standIn ? (standIn as CheckedFakeTracker).violations() : [];
      if (violations.length > 0) throw new Error(`against the tracker's own description: ${violations}`);
    },
  };
}
