import type { IssuePriority, IssueStatus, TrackerProvider } from '@tessera/contracts';
import type { Logger } from '@tessera/service-kit';
import type { TrackerClock } from './tracker-clock.ts';

/** The external tracker that the service is configured with. */
export interface TrackerConfig {
  provider: TrackerProvider;
  /** Base URL without a trailing slash; for GitHub, of its API. */
  url: string;
  project: string;
  token: string;
  /** The account of the token; if undefined, the tracker is asked. */
  login: string | undefined;
  /** Redmine only: its administrators choose the names of statuses and priorities. */
  words: TrackerWords;
  redmine: RedmineSettings;
  /** Timeout of one request. */
  timeoutMs: number;
  /** How long the circuit breaker stays open. */
  breakMs: number;
  /** Overrides the tracker's default. */
  settleSeconds: number | undefined;
  /** Overrides the tracker's default. */
  writeIntervalMs: number | undefined;
}

/** The tracker's rate limit, which all replicas share. While it lasts, no request is sent. */
export interface TrackerLimit {
  /** Seconds until the limit ends; 0 if there is none. */
  remainingSeconds: () => Promise<number>;
  /** Records that the tracker accepts no requests for a time. */
  extend: (seconds: number) => Promise<void>;
}

/** The dependencies of a tracker client. */
export interface TrackerContext {
  logger: Logger;
  limit: TrackerLimit;
  clock: TrackerClock;
}

/** Values that a Redmine may require in a new issue. */
export interface RedmineSettings {
  /** The name of the issue type, which Redmine calls a tracker; undefined for the first type of the project. */
  type: string | undefined;
  customFields: readonly { id: number; value: string }[];
}

export interface TrackerWords {
  statuses: Readonly<Record<IssueStatus, string>>;
  priorities: Readonly<Record<IssuePriority, string>>;
}
