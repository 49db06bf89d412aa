import type { TrackerProvider } from '@tessera/contracts';

/** An issue as the tracker itself shows it. */
export interface FarIssue {
  id: string;
  title: string;
  /** As it is written there, markers and all. */
  text: string;
  isOpen: boolean;
  state: string;
  comments: { author: string; body: string }[];
}

/** What somebody does to an issue on the tracker's own pages. */
export interface FarEdit {
  title?: string;
  text?: string;
  /** By the tracker's own word. */
  state?: string;
}

/** A tracker to test against, with the hands of somebody who works in it. */
export interface FarSide {
  provider: TrackerProvider;
  /** What the service is configured with. */
  url: string;
  project: string;
  token: string;
  /** The tracker's words for an issue that is open, and for one that is done. */
  words: { open: string; done: string };
  /** How many comments it lists at a time; 0 where it lists all. */
  commentsPage: number;
  issues: () => Promise<FarIssue[]>;
  edit: (id: string, edit: FarEdit) => Promise<void>;
  comment: (id: string, body: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
  /** The next issue takes its time to be created; what takes its time anyway is left as it is. */
  slowDown: () => void;
  close: () => Promise<void>;
}
