import type { TrackerProvider } from '@tessera/contracts';
import { rememberSecret } from '@tessera/testing/leaks';
import {
  type CheckedFakeTracker,
  type FakeTracker,
  startGitea,
  startGitHub,
  startGitLab,
} from '@tessera/trackers/fakes';
import type { TestTracker } from './test-tracker.ts';

export type FakeTestTracker = TestTracker & { fake: FakeTracker };

const project = 'acme/website';
const starts = { github: startGitHub, gitlab: startGitLab, gitea: startGitea } as const;

const labelsOfIssue = { method: 'POST', path: /\/issues\/\d+\/labels$/ };
const labelChanges = {
  github: labelsOfIssue,
  gitlab: { method: 'PUT', path: /\/issues\/\d+$/ },
  gitea: labelsOfIssue,
};
const unholdable = {
  github: ['..'],
  gitlab: ['a, b', '<b>x</b>', 'List<T', 'Save&notify', '&amp;', 'a\u00a0b'],
  gitea: [],
};

/** Starts a fake of a tracker that cannot be installed for tests. */
export async function startFakeTracker(
  provider: Exclude<TrackerProvider, 'redmine'>,
): Promise<FakeTestTracker> {
  const fake = await starts[provider]({ project });
  return {
    fake,
    provider,
    url: fake.url,
    project,
    token: rememberSecret(fake.token),
    words: { open: 'open', done: 'closed' },
    commentsPage: provider === 'gitea' ? 0 : 100,
    issues: async () =>
      fake.issues().map(({ number, title, body, state, comments }) => ({
        id: String(number),
        title,
        text: body,
        isOpen: state === 'open',
        state,
        comments: comments.map(({ author, body: text }) => ({ author, body: text })),
      })),
    edit: async (id, { title, text, state }) => {
      fake.editIssue(Number(id), {
        ...(title === undefined ? {} : { title }),
        ...(text === undefined ? {} : { body: text }),
        ...(state === undefined ? {} : { state: state === 'open' ? 'open' : 'closed' }),
      });
    },
    comment: async (id, body) => {
      fake.addComment(Number(id), body);
    },
    create: async ({ title, text: body }) => String(fake.createIssue({ title, body })),
    assign: async (id) => {
      fake.editIssue(Number(id), { assignee: 'octocat' });
      return 'octocat';
    },
    labels: {
      of: (id) => fake.issues().find(({ number }) => number === Number(id))?.labels ?? [],
      set: (id, labels) => fake.editIssue(Number(id), { labels }),
      all: () => fake.labels(),
      create: (name, color) => fake.createLabel(name, color),
      interrupt: () => fake.fail({ kind: 'reset_after', on: labelChanges[provider] }),
      slowDown: () => fake.fail({ kind: 'latency', ms: 500, on: labelChanges[provider] }),
      isChanging: () => {
        const { method, path } = labelChanges[provider];
        return fake.requests.some(
          (sent) => sent.status === null && sent.method === method && path.test(sent.path),
        );
      },
      unholdable: unholdable[provider],
    },
    remove: async (id) => fake.deleteIssue(Number(id)),
    slowDown: () => fake.fail({ kind: 'latency', ms: 1_500, on: { method: 'POST' } }),
    close: async () => {
      await fake.close();
      const violations = 'violations' in fake ? (fake as CheckedFakeTracker).violations() : [];
      if (violations.length > 0)
        throw new Error(`requests or responses violate the tracker's API description: ${violations}`);
    },
  };
}
