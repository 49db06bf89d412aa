import type { TrackerProvider } from '@tessera/contracts';
import type { Logger } from '@tessera/service-kit';
import type { ExternalTracker } from './external-tracker.ts';
import { GiteaTracker } from './gitea.tracker.ts';
import { GitHubTracker } from './github.tracker.ts';
import { GitLabTracker } from './gitlab.tracker.ts';
import { RedmineTracker } from './redmine.tracker.ts';
import type { RedmineWords } from './redmine-vocabulary.ts';
import { TrackerTransport } from './tracker-transport.ts';

/** The one tracker that issues are synced with. */
export interface TrackerConfig {
  provider: TrackerProvider;
  /** Its address, without a slash at the end; GitHub's is its API's. */
  url: string;
  project: string;
  token: string;
  login: string | undefined;
  words: RedmineWords;
  /** Bound on one request, in milliseconds. */
  timeoutMs: number;
  breakMs: number;
  /** In place of what the tracker is known to need. */
  settleSeconds: number | undefined;
  writeIntervalMs: number | undefined;
}

interface ProviderTraits {
  credential: (token: string) => Record<string, string>;
  headers?: Record<string, string>;
  /** How long what was created may be missing from its list. */
  settleSeconds: number;
  writeIntervalMs: number;
}

const traits: Readonly<Record<TrackerProvider, ProviderTraits>> = {
  redmine: {
    credential: (token) => ({ 'X-Redmine-API-Key': token }),
    // Its list is its database; the time is for a request that was still running when we had given up.
    settleSeconds: 10,
    writeIntervalMs: 0,
  },
  github: {
    credential: (token) => ({ Authorization: `Bearer ${token}` }),
    headers: { Accept: 'application/vnd.github+json', 'X-GitHub-Api-Version': '2022-11-28' },
    settleSeconds: 600,
    // docs.github.com/rest/using-the-rest-api/best-practices: at least a second between requests that write.
    writeIntervalMs: 1_000,
  },
  gitlab: { credential: (token) => ({ 'PRIVATE-TOKEN': token }), settleSeconds: 60, writeIntervalMs: 0 },
  gitea: {
    credential: (token) => ({ Authorization: `token ${token}` }),
    settleSeconds: 60,
    writeIntervalMs: 0,
  },
};

/** The adapter for the tracker that is configured. */
export function createTracker(config: TrackerConfig, logger: Logger): ExternalTracker {
  const { provider, url, project, token, login, words, timeoutMs, breakMs } = config;
  const { credential, headers = {}, ...known } = traits[provider];
  const settleSeconds = config.settleSeconds ?? known.settleSeconds;
  const transport = new TrackerTransport({
    url,
    credential: credential(token),
    headers,
    timeoutMs,
    breakMs,
    writeIntervalMs: config.writeIntervalMs ?? known.writeIntervalMs,
    logger,
  });
  switch (provider) {
    case 'redmine':
      return new RedmineTracker({ transport, url, project, words, settleSeconds });
    case 'github':
      return new GitHubTracker({ transport, project, login, settleSeconds });
    case 'gitlab':
      return new GitLabTracker({ transport, project, settleSeconds });
    case 'gitea':
      return new GiteaTracker({ transport, project, login, settleSeconds });
  }
}
