import type { Issue } from '@tessera/contracts';
import { HttpError } from './http.ts';

let last: Promise<unknown> = Promise.resolve();

/** Sends a change after the response to the user's change before it, also if that was made on another page. */
export function inOrder<Result>(send: () => Promise<Result>): Promise<Result> {
  const sent = last.then(send);
  last = sent.catch(() => undefined);
  return sent;
}

/** The versions that changes of this tab have made, by the key and the version on which they were based. */
const made = new Map<string, number>();

export function noteOwnChange(key: string, based: number, version: number): void {
  // A change of the status has no version of its own.
  if (version > based) made.set(`${key} ${based}`, version);
}

/** Returns the version that a change must carry: those after `version` that this tab has made are no conflict. */
export function ownVersion(key: string, version: number): number {
  const next = made.get(`${key} ${version}`);
  return next === undefined ? version : ownVersion(key, next);
}

/** Returns the issue as another person has changed it, if that is why a change was refused. */
export function conflictingIssue(error: unknown): Issue | undefined {
  if (!(error instanceof HttpError) || error.code !== 'version_conflict') return undefined;
  return error.body.issue as Issue;
}
