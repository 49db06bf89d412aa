import { descriptionMaxLength, isStorableText, titleMaxLength } from '@tessera/contracts';

/** How a tracker marks code, where a name is no mention; GitLab also carries out lines that begin with a command. */
export type Markup = 'markdown' | 'gitlab' | 'textile';

const zeroWidthSpace = '\u200b';
const markdownCode = /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`)/;
const code: Readonly<Record<Markup, RegExp>> = {
  markdown: markdownCode,
  gitlab: markdownCode,
  textile: /(<pre>[\s\S]*?(?:<\/pre>|$)|(?<![\w@])@[^@\n]+@(?![\w@]))/,
};
// `@name`, but no e-mail address; `#123`, also after a repository's name, but no part of a URL and no HTML entity.
const mention = /(?<![\w/])@(?=\w)|(?<![&/])#(?=\d)/g;
// docs.gitlab.com/user/project/quick_actions: such a line is carried out, and taken out of the text.
const command = /^(?=\/[a-z])/gim;
const lineEnd = /[\n\r\u2028\u2029]$/;
const neutralised = new RegExp(`(?<=[@#])${zeroWidthSpace}(?=\\w)|^${zeroWidthSpace}(?=\\/[a-z])`, 'gim');
const marker = /<!-- issues-sync:[\w:-]+ -->/g;

/** Finds an issue again that was created for ours, whatever became of the answer. */
export function issueMarker(issueId: string): string {
  return `<!-- issues-sync:${issueId} -->`;
}

export function commentMarker(commentId: string): string {
  return `<!-- issues-sync:comment:${commentId} -->`;
}

/** The comment of ours that a remote comment is, by the marker on its last line: within a quotation it says nothing. */
export function markedComment(body: string): string | undefined {
  return /(?:^|\n)<!-- issues-sync:comment:([0-9a-f-]{36}) -->\s*$/.exec(body)?.[1];
}

/**
 * A text as it is compared and stored: lines end with LF alone, nothing blank stands at its end, it has neither our
 * marker nor what `neutralise` adds. A tracker that turns LF into CRLF has not changed anything.
 */
export function canonicalText(text: string): string {
  return withoutMarkers(storable(text).replace(/\r\n?/g, '\n')).replace(neutralised, '').trimEnd();
}

/** A title likewise: one line. */
export function canonicalTitle(title: string): string {
  return storable(title)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .trim()
    .replace(neutralised, '');
}

/** A text for a tracker: it calls nobody by name, links to nothing by number, and carries a marker. */
export function outboundText(text: string, marking: string, markup: Markup): string {
  const silent = neutralise(canonicalText(text), markup);
  return silent === '' ? marking : `${silent}\n\n${marking}`;
}

/**
 * Takes the power from `@name`, `#123` and commands, outside code: a person of the same name there has nothing to do with
 * the issue, a number means another issue there, and nobody here may give orders there.
 */
export function neutralise(text: string, markup: Markup): string {
  return text
    .split(code[markup])
    .map((part, index, parts) => {
      const beginsLine = index === 0 || lineEnd.test(parts[index - 1] ?? '');
      return index % 2 === 1 ? part : withoutPower(part, markup, beginsLine);
    })
    .join('');
}

function withoutPower(text: string, markup: Markup, beginsLine: boolean): string {
  const silent = text.replace(mention, `$&${zeroWidthSpace}`);
  if (markup !== 'gitlab') return silent;
  return silent.replace(command, (_, at: number) => (at > 0 || beginsLine ? zeroWidthSpace : ''));
}

export function isStorableTitle(title: string): boolean {
  return title !== '' && [...title].length <= titleMaxLength;
}

export function isStorableDescription(description: string): boolean {
  return [...description].length <= descriptionMaxLength;
}

/** At most so many characters, with a word on what is missing. */
export function cutText(text: string, max: number): string {
  const characters = [...text];
  if (characters.length <= max) return text;
  const notice = '\n\n[cut: the whole text is in the external tracker]';
  return characters.slice(0, max - notice.length).join('') + notice;
}

// Taking them out may leave another one, that they stood in: whoever wrote it, it is not ours, and is none any more.
function withoutMarkers(text: string): string {
  return text.replace(marker, '').replace(marker, (forged) => forged.replace(' ', ''));
}

// PostgreSQL's text has no U+0000, and UTF-8 no lone surrogate: both come as the replacement character.
function storable(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll('\u0000', '\ufffd');
}
