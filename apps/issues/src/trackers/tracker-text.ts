import { descriptionMaxLength, isStorableText, titleMaxLength } from '@tessera/contracts';
import { type Markup, neutralise, withoutSeparators } from './neutralise.ts';

const marker = /<!-- issues-sync:[\w:-]+ -->/g;

/** Identifies the remote issue of a local one, even if the response to its creation was lost. */
export function issueMarker(issueId: string): string {
  return `<!-- issues-sync:${issueId} -->`;
}

/** The local issue that a marker names. */
export function issueOfMarker(marking: string | null): string | undefined {
  return /^<!-- issues-sync:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) -->$/.exec(marking ?? '')?.[1];
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
  return withoutSeparators(withoutMarkers(storable(text).replace(/\r\n?/g, '\n'))).trimEnd();
}

/** The same for a title, which is a single line. */
export function canonicalTitle(title: string): string {
  return withoutSeparators(
    storable(title)
      .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
      .trim(),
  );
}

/** The text to send to a tracker: without active mentions, references and quick actions, with a marker at its end. */
export function outboundText(text: string, marking: string, markup: Markup): string {
  const body = neutralise(canonicalText(text), markup);
  return body === '' ? marking : `${body}\n\n${marking}`;
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

/** The beginning of a title that an issue can hold; `otherwise` for an empty one. */
export function storableTitle(title: string, otherwise: string): string {
  return title === '' ? otherwise : [...title].slice(0, titleMaxLength).join('').trim();
}

/** The beginning of a description that an issue can hold. */
export function storableDescription(description: string): string {
  const cut = cutText(description, descriptionMaxLength);
  return isStorableDescription(cut) ? cut : cutText(description, alwaysFits);
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
