import type { TrackerProvider } from '@tessera/contracts';

/** An issue in the tracker. */
export interface TrackerIssue {
  id: string;
  title: string;
  /** The stored text, including markers. */
  text: string;
  isOpen: boolean;
  state: string;
  comments: { author: string; body: string }[];
}

/** An edit by a user of the tracker. */
export interface TrackerEdit {
  title?: string;
  text?: string;
  /** The tracker's name of the state. */
  state?: string;
}

/** Actions of users on the labels of a tracker. */
export interface TrackerLabelActions {
  /** The names of the labels of an issue. */
  of: (id: string) => readonly string[];
  set: (id: string, names: readonly string[]) => void;
  all: () => readonly { name: string; color: string }[];
  /** `color`: six hexadecimal digits. */
  create: (name: string, color: string) => void;
  /** Drops the response to the next change of an issue's labels by the service. */
  interrupt: () => void;
  /** Delays the next change of an issue's labels by the service. */
  slowDown: () => void;
  /** Whether a change by the service waits for its response. */
  isChanging: () => boolean;
  /** Label names that the tracker rejects or changes. */
  unholdable: readonly string[];
}

/** A tracker for tests, with the actions of its users. */
export interface TestTracker {
  provider: TrackerProvider;
  /** The configuration of the service. */
  url: string;
  project: string;
  token: string;
  /** The tracker's names of an open and of a done state. */
  words: { open: string; done: string };
  /** The page size of comments; 0 if the tracker returns all. */
  commentsPage: number;
  issues: () => Promise<TrackerIssue[]>;
  edit: (id: string, edit: TrackerEdit) => Promise<void>;
  comment: (id: string, body: string) => Promise<void>;
  /** Creates an issue as another user, and returns its id. */
  create: (issue: { title: string; text: string }) => Promise<string>;
  /** Assigns an issue to a user, and returns the name by which the tracker shows the user. */
  assign: (id: string) => Promise<string>;
  remove: (id: string) => Promise<void>;
  /** Actions on labels; absent if the tracker has no labels. */
  labels?: TrackerLabelActions;
  /** Delays the next creation of an issue. Does nothing if the tracker is slow itself. */
  slowDown: () => void;
  close: () => Promise<void>;
}
