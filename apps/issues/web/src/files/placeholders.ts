const id = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
// Also one whose brackets the user has changed. A bracket in a bracket begins again, so that the time is linear.
const pattern = new RegExp(`!\\[([^\\][\\n]*)\\]\\(upload:(${id})\\)|upload:(${id})`, 'g');

export interface Placeholder {
  id: string;
  name: string;
  from: number;
  to: number;
}

/** Have a meaning in Markdown, or begin a mention. */
export const markdownSigns = /[\\[\]`*_<>!&@]/g;

/** The text in the place of a file that is not uploaded yet. */
export const placeholderOf = (id: string, name: string) =>
  `![Uploading ${name.replace(markdownSigns, '')}…](upload:${id})`;

/** Finds the files in a text that are not uploaded yet. */
export const placeholdersIn = (text: string): Placeholder[] =>
  text.includes('upload:')
    ? Array.from(text.matchAll(pattern), ({ 0: found, 1: name = '', 2: whole, 3: bare = '', index }) => ({
        id: whole ?? bare,
        name: name.replace(/^Uploading |…$/g, '') || 'A file',
        from: index,
        to: index + found.length,
      }))
    : [];
