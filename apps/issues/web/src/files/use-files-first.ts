import { useState } from 'react';
import { placeholdersIn } from './placeholders.ts';

/** Keeps a text from being sent while a file of it is missing. */
export function useFilesFirst(text: string) {
  const [isAsked, setAsked] = useState(false);
  // A text without a file that is missing was sent, or can be.
  if (isAsked && placeholdersIn(text).length === 0) setAsked(false);
  const names = isAsked ? [...new Set(placeholdersIn(text).map(({ name }) => name))] : [];
  return {
    /** Why the text was not sent. */
    problem:
      names.length === 0
        ? ''
        : `Not sent: ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not uploaded yet. Wait for the upload, or remove the file.`,
    /** Returns the text with all its files; undefined if one is missing. */
    complete: async (latest: string): Promise<string | undefined> => {
      if (placeholdersIn(latest).length === 0) return latest;
      setAsked(true);
      const { withUploaded } = await import('./uploads.ts');
      const text = withUploaded(latest);
      return placeholdersIn(text).length === 0 ? text : undefined;
    },
  };
}
