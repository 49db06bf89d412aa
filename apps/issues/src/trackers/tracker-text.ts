import { descriptionMaxLength, isStorableText, titleMaxLength } from '@tessera/contracts';

/** Determines which parts of a text are code; GitLab also executes lines that begin with a quick action. */
export type Markup = 'markdown' | 'gitlab' | 'textile';

const zeroWidthSpace = '\u200b';
const markdownCode = /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`)/;
const code: Readonly<Record<Markup, RegExp>> = {
  markdown: markdownCode,
  gitlab: markdownCode,
  textile: /(<pre>[\s\S]*?(?:<\/pre>|$)|(?<![\w@])@[^@\n]+@(?![\w@]))/,
};
// `@name` but not an e-mail address; `#123` and `owner/repository#123` but not in a URL or an HTML entity.
const mention = /(?<![\w/])@(?=\w)|(?<![&/])#(?=\d)/g;
// docs.gitlab.com/user/project/quick_actions: GitLab executes such a line and removes it from the text.
const quickAction = /^(?=\/[a-z])/gim;
const lineEnd = /[\n\r\u2028\u2029]$/;
const neutralised = new RegExp(`(?<=[@#])${zeroWidthSpace}(?=\\w)|^${zeroWidthSpace}(?=\\/[a-z])`, 'gim');
const marker = /<!-- issues-sync:[\w:-]+ -->/g;

/** Identifies the remote issue of a local one, even if the response to its creation was lost. */
export function issueMarker(issueId: string): string {
  return `<!-- issues-sync:${issueId} -->`;
}

export function commentMarker(commentId: string): string {
  return `<!-- issues-sync:comment:${commentId} -->`;
}

const longestMarker = commentMarker('01980c5e-0000-7000-8000-000000000000');

/** The marker on the last line of a text, where we put it. */
export function endMarker(text: string): string | null {
  return /(?:^|\n)(<!-- issues-sync:[\w:-]+ -->)\s*$/.exec(text)?.[1] ?? null;
}

/** The text of a local comment in the tracker. */
export function commentText(username: string | null, body: string): string {
  return `${username ?? 'Somebody'} wrote:\n\n${body}`;
}

/** The id of the local comment that a remote comment is a copy of: the marker on its last line. A quoted marker does not count. */
export function markedComment(body: string): string | undefined {
  return /(?:^|\n)<!-- issues-sync:comment:([0-9a-f-]{36}) -->\s*$/.exec(body)?.[1];
}

/**
 * The form in which texts are compared and stored: lines end with LF, without trailing white space, markers and what
 * `neutralise` adds. Redmine turns LF into CRLF, which must not count as a change.
 */
export function canonicalText(text: string): string {
  return withoutMarkers(storable(text).replace(/\r\n?/g, '\n')).replace(neutralised, '').trimEnd();
}

/** The same for a title, which is a single line. */
export function canonicalTitle(title: string): string {
  return storable(title)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .trim()
    .replace(neutralised, '');
}

/** The text to send to a tracker: without active mentions, references and quick actions, with a marker at its end. */
export function outboundText(text: string, marking: string, markup: Markup): string {
  const body = neutralise(canonicalText(text), markup);
  return body === '' ? marking : `${body}\n\n${marking}`;
}

/**
 * Inserts zero-width spaces outside code so that the tracker does not notify `@name`, link `#123` or execute quick actions:
 * user names and numbers mean something else there.
 */
export function neutralise(text: string, markup: Markup): string {
  return text
    .split(code[markup])
    .map((part, index, parts) => {
      const beginsLine = index === 0 || lineEnd.test(parts[index - 1] ?? '');
      return index % 2 === 1 ? part : neutralisePart(part, markup, beginsLine);
    })
    .join('');
}

function neutralisePart(text: string, markup: Markup, beginsLine: boolean): string {
  const withoutMentions = text.replace(mention, `$&${zeroWidthSpace}`);
  if (markup !== 'gitlab') return withoutMentions;
  return withoutMentions.replace(quickAction, (_, at: number) =>
    at > 0 || beginsLine ? zeroWidthSpace : '',
  );
}

export function isStorableTitle(title: string): boolean {
  return title !== '' && [...title].length <= titleMaxLength;
}

/** JSON of a text that a request of 256 KiB can contain; responses are dimensioned for it. */
const textBytesMax = 256 * 1024;
// JSON has at most six bytes for a character that is not two UTF-16 units.
const alwaysFits = 40_000;

export function isStorableDescription(description: string): boolean {
  return [...description].length <= descriptionMaxLength && bytesOf(description) <= textBytesMax;
}

/** A text of the tracker for display, which can be larger than an issue can hold. */
export function displayText(text: string): string {
  return bytesOf(text) <= textBytesMax ? text : cutText(text, alwaysFits);
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

/** Cuts a text so that `outboundText` makes at most `max` characters of it, including a notice about the cut. */
export function fitText(text: string, markup: Markup, max: number): string {
  const excessOf = (part: string) => [...outboundText(part, longestMarker, markup)].length - max;
  const characters = [...canonicalText(text)];
  const notice = '\n\n[cut: the whole text is in Tessera]';
  let [fitted, kept] = [text, characters.length];
  for (let excess = excessOf(text); excess > 0; excess = excessOf(fitted)) {
    kept -= Math.max(excess, fitted === text ? notice.length : 1);
    fitted = `${characters.slice(0, kept).join('').trimEnd()}${notice}`;
  }
  return fitted;
}

/** Cuts a text to a number of characters, including a notice about the cut. */
export function cutText(text: string, max: number): string {
  const characters = [...text];
  if (characters.length <= max) return text;
  const notice = '\n\n[cut: the whole text is in the external tracker]';
  return characters.slice(0, max - notice.length).join('') + notice;
}

// Removing a marker can join the text around it into another one: break that one.
function withoutMarkers(text: string): string {
  return text.replace(marker, '').replace(marker, (joined) => joined.replace(' ', ''));
}

// PostgreSQL's text cannot hold U+0000, and UTF-8 no lone surrogates: both become U+FFFD.
function storable(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll('\u0000', '\ufffd');
}
