import {
  descriptionMaxLength,
  isVisibleText,
  titleMaxLength,
  toStorableText,
  withoutOverrides,
} from '@tessera/contracts';
import { type Range, readMarkdown, testOf } from '@tessera/contracts/markdown';
import { z } from 'zod';

/** The name of a state, a user or a project in a tracker. They are stored and shown; no tracker permits longer ones. */
export const remoteNameSchema = z.string().max(1_000);

const marker = /<!-- issues-sync:[\w:-]+ -->/g;
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const issueMarking = new RegExp(`^<!-- issues-sync:(${uuid}) -->$`);
const commentMarking = new RegExp(`(?:^|\\n)<!-- issues-sync:comment:(${uuid}) -->\\s*$`);

/**
 * Returns the marker that identifies the remote issue of a local one, even if the response to its creation was lost.
 */
export function issueMarker(issueId: string): string {
  return `<!-- issues-sync:${issueId} -->`;
}

/** Returns the id of the local issue in a marker; undefined if there is none. */
export function issueOfMarker(marking: string | null): string | undefined {
  return issueMarking.exec(marking ?? '')?.[1];
}

export function commentMarker(commentId: string): string {
  return `<!-- issues-sync:comment:${commentId} -->`;
}

const longestMarker = commentMarker('01980c5e-0000-7000-8000-000000000000');

/** Returns the marker on the last line of a text, where `outboundText` puts it; null if there is none. */
export function endMarker(text: string): string | null {
  return /(?:^|\n)(<!-- issues-sync:[\w:-]+ -->)\s*$/.exec(text)?.[1] ?? null;
}

/** Returns the text of a local comment in the tracker. */
export function commentText(username: string | null, body: string): string {
  return `${username ?? 'Somebody'} wrote:\n\n${body}`;
}

/**
 * Returns the id of the local comment that a remote comment copies, from the marker on its last line. Ignores quoted
 * markers.
 */
export function markedComment(body: string): string | undefined {
  return commentMarking.exec(body)?.[1];
}

/**
 * Returns the canonical form of a text for comparison and storage: lines end with LF; trailing white space, markers and
 * the characters that `neutralise` adds are removed, and directional overrides, which the API refuses. Redmine replaces LF by
 * CRLF, which must not count as a change.
 */
export function canonicalText(text: string): string {
  return withoutSeparators(withoutMarkers(permitted(text).replace(/\r\n?/g, '\n'))).trimEnd();
}

/** Returns the canonical form of a title, which is a single line. */
export function canonicalTitle(title: string): string {
  return withoutSeparators(
    permitted(title)
      .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
      .trim(),
  );
}

/**
 * Returns the text to send to a tracker: without active mentions, references and quick actions, with a marker at its
 * end.
 */
export function outboundText(text: string, marking: string, markup: Markup): string {
  const body = neutralise(canonicalText(text), markup);
  return body === '' ? marking : `${body}\n\n${marking}`;
}

export function isStorableTitle(title: string): boolean {
  return isVisibleText(title) && [...title].length <= titleMaxLength;
}

/** Maximum size of a text as JSON in bytes. Requests have the same limit, and response limits are based on it. */
const textBytesMax = 256 * 1024;
// A shorter text needs no measurement: JSON uses at most six bytes per UTF-16 unit.
const alwaysFits = 40_000;

export function isStorableDescription(description: string): boolean {
  return [...description].length <= descriptionMaxLength && bytesOf(description) <= textBytesMax;
}

/** Returns a title cut to the length limit of issues; `otherwise` if nothing of it is visible. */
export function storableTitle(title: string, otherwise: string): string {
  const cut = [...title].slice(0, titleMaxLength).join('').trim();
  return isVisibleText(cut) ? cut : otherwise;
}

/** Returns a description cut to the length limit of issues. */
export function storableDescription(description: string): string {
  const cut = cutText(description, descriptionMaxLength);
  return isStorableDescription(cut) ? cut : cutText(description, alwaysFits);
}

/** Returns a text of the tracker for display. It can exceed the length limit of issues. */
export function displayText(text: string): string {
  return bytesOf(text) <= textBytesMax ? text : cutText(text, alwaysFits);
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

/** Cuts a text so that the result of `outboundText` has at most `max` characters, including a notice about the cut. */
export function fitText(text: string, markup: Markup, max: number): string {
  const excessOf = (part: string) => [...outboundText(part, longestMarker, markup)].length - max;
  const characters = [...canonicalText(text)];
  const notice = '\n\n[cut: the whole text is in Tessera]';
  // `neutralise` at most doubles a text. A cut can end code, whose signs then count, so a text can stay too long.
  const alwaysKept = Math.floor((max - longestMarker.length) / 2) - notice.length;
  let [fitted, kept, rounds] = [text, characters.length, 0];
  for (let excess = excessOf(text); excess > 0; excess = excessOf(fitted)) {
    rounds += 1;
    kept = rounds > 3 ? alwaysKept : kept - Math.max(excess, fitted === text ? notice.length : 1);
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

function permitted(text: string): string {
  return withoutOverrides(toStorableText(text));
}

// Removing a marker can join the surrounding text to another marker, which is then broken.
function withoutMarkers(text: string): string {
  return text.replace(marker, '').replace(marker, (joined) => joined.replace(' ', ''));
}

/** Determines which parts of a text are code; GitLab also executes lines that begin with a quick action. */
export type Markup = 'markdown' | 'gitlab' | 'textile';

const zeroWidthSpace = '\u200b';
const atSign = '(?:@|&(?:#0*64|#x0*40|commat);)';
const numberSign = '(?:#|&(?:#0*35|#x0*23|num);)';
// docs.github.com, "Autolinked references and URLs": `GH-12` is `#12`.
const githubSign = '(?<![A-Za-z0-9])GH\\\\?(?:-|&#0*45;|&#x0*2d;)';
// `@name` but not an e-mail address, and `#123` but not an HTML entity. A name can begin with an entity or, after a
// comment that the tracker removes, with markup: so any character may follow.
const active = new RegExp(
  `(?<![A-Za-z0-9])${atSign}(?=\\S)|(?:(?<!&)${numberSign}|${githubSign})(?=\\d|&#)`,
  'gi',
);
// docs.gitlab.com/user/project/quick_actions: GitLab executes such a line and removes it from the text.
const quickAction = /^[ \t]*(?=\/[a-z])/gim;
const neutralised = new RegExp(
  `${zeroWidthSpace}(?:(?<=${atSign}.)(?=\\S)|(?<=(?:${numberSign}|${githubSign}).)(?=\\d|&#)|(?<=^[ \\t]*.)(?=\\/[a-z]))`,
  'gim',
);
// Trackers link such an address and find no mentions in a link. The pattern contains only characters at which no
// tracker ends a link. It excludes addresses after a bracket or within HTML, which are not linked.
const address = /(?<=^|[\s(*_~])https?:\/\/[a-z0-9]+(?:[.-][a-z0-9]+)*(?::\d+)?\/[\w./~%?=+:@#-]*/gi;
const textileCode = /(<pre>[\s\S]*?(?:<\/pre>|$)|(?<![\w@])@[^@\n]+@(?![\w@]))/;
// Formulas, footnotes, and quotes of several lines (GitLab) affect which text is code, but are not part of CommonMark.
const formula = /\$`|[`~]{3}\s*math/i;
const longQuote = /^[ \t]*>>>/m;
// Trackers extend an address to the next white space, so a backtick within an address does not begin code.
const extendedAddress = /(?:(?:https?|ftp):\/\/|www\.)[^\s<]*/gi;

/**
 * Inserts zero-width spaces so that the tracker does not notify `@name`, link `#123` or execute quick actions: user names and
 * numbers mean something else there. Code that the tracker shows as code stays as it is, except quick actions, because
 * GitLab finds them by a different rule than CommonMark's.
 */
export function neutralise(text: string, markup: Markup): string {
  if (markup === 'textile') {
    return text
      .split(textileCode)
      .map((part, index) => (index % 2 === 1 ? part : separate(part)))
      .join('');
  }
  const separated = separate(text, testOf(codeOf(text, markup)));
  return markup === 'gitlab' ? separated.replace(quickAction, `$&${zeroWidthSpace}`) : separated;
}

/** Undoes `neutralise`. */
export function withoutSeparators(text: string): string {
  return text.replace(neutralised, '');
}

function separate(text: string, isInCode: (at: number) => boolean = () => false): string {
  const isInPath = pathsOf(text);
  return text.replace(active, (sign: string, at: number) => {
    const [isPath, isCode] = [isInPath(at), isInCode(at)];
    return isPath || isCode ? sign : sign + zeroWidthSpace;
  });
}

function codeOf(text: string, markup: Markup): readonly Range[] {
  if (formula.test(text) || hasFootnote(text)) return [];
  if (markup === 'gitlab' && longQuote.test(text)) return [];
  const { code, isUncertain } = readMarkdown(text);
  const isInAddress = testOf(
    Array.from(text.matchAll(extendedAddress), ({ 0: { length }, index }) => ({
      start: index + 1,
      end: index + length,
    })),
  );
  return isUncertain || code.some(({ start }) => isInAddress(start)) ? [] : code;
}

// github/cmark-gfm, src/scanners.re: a footnote is a line with `[^` and, after any text, `]:`.
function hasFootnote(markdown: string): boolean {
  return markdown.split('\n').some((line) => {
    const start = line.indexOf('[^');
    return start >= 0 && line.includes(']:', start);
  });
}

function addressesOf(text: string): Range[] {
  const plain = /^[^[<]*/.exec(text)?.[0] ?? '';
  return Array.from(plain.matchAll(address), ({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}

/** Returns a test for signs that follow a slash in an address, as in `https://host/@name`. Call it for ascending places. */
function pathsOf(text: string): (at: number) => boolean {
  const isInAddress = testOf(addressesOf(text).map(({ start, end }) => ({ start: start + 1, end })));
  return (at) => isInAddress(at) && text[at - 1] === '/';
}
