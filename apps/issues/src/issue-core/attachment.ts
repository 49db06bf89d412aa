import { type AttachedFile, attachmentsPerIssueMax, attachmentsPerTextMax } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { IssueUrls } from './issue-reference.ts';

/** The part of a file that a text shows. */
export interface ShownFile {
  id: string;
  name: string;
  size: number;
  mediaType: string;
  width: number | null;
  height: number | null;
}

/** A file that an issue gets or loses, for its history. */
export type NamedFile = Pick<ShownFile, 'id' | 'name' | 'size'>;

/** The files that an issue gets without a text that names them, and those that are deleted. */
export interface FileChanges {
  added?: readonly NamedFile[];
  removed?: readonly NamedFile[];
}

interface FileValue {
  attachment_id: string;
  name: string;
  size: number;
}

export type FileHistoryEntry =
  | { kind: 'attachment_added'; new: FileValue }
  | { kind: 'attachment_removed'; old: FileValue };

/** Returns the history entries of files. */
export function describeFileChanges({ added = [], removed = [] }: FileChanges): FileHistoryEntry[] {
  return [
    ...added.map((file) => ({ kind: 'attachment_added' as const, new: historyValue(file) })),
    ...removed.map((file) => ({ kind: 'attachment_removed' as const, old: historyValue(file) })),
  ];
}

function historyValue({ id, name, size }: NamedFile): FileValue {
  return { attachment_id: id, name, size };
}

const reference = /\battachment:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9a-f-])/gi;

/** Returns the ids of the files that a text names, in its order. Throws a 409 problem if there are too many. */
export function filesNamedIn(text: string): string[] {
  const ids = new Set<string>();
  for (const [, id = ''] of text.matchAll(reference)) ids.add(id.toLowerCase());
  if (ids.size > attachmentsPerTextMax)
    throw tooManyAttachments(`A text names at most ${attachmentsPerTextMax} files.`);
  return [...ids];
}

/** 409 for an issue or a text with too many files. */
export function tooManyAttachments(detail = `An issue has at most ${attachmentsPerIssueMax} files.`) {
  return new ProblemError({ status: 409, code: 'too_many_attachments', detail });
}

/** Converts a file to its representation in a text. */
export function presentFile(file: ShownFile, urls: Pick<IssueUrls, 'attachment'>): AttachedFile {
  return {
    id: file.id,
    name: file.name,
    size: file.size,
    media_type: file.mediaType,
    width: file.width,
    height: file.height,
    url: urls.attachment(file.id, 'content'),
  };
}
