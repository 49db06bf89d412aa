import { type Range, readMarkdown, testOf } from '@tessera/contracts/markdown';

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
