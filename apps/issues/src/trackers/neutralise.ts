import { randomBytes } from 'node:crypto';
import MarkdownIt, { type Token } from 'markdown-it';

/** Determines which parts of a text are code; GitLab also executes lines that begin with a quick action. */
export type Markup = 'markdown' | 'gitlab' | 'textile';

const zeroWidthSpace = '\u200b';
const atSign = '(?:@|&(?:#0*64|#x0*40|commat);)';
const numberSign = '(?:#|&(?:#0*35|#x0*23|num);)';
// `@name` but not an e-mail address, and `#123` but not an HTML entity. A name can begin with an entity or, after a
// comment that the tracker removes, with markup: so any character may follow.
const active = new RegExp(`(?<![A-Za-z0-9])${atSign}(?=\\S)|(?<!&)${numberSign}(?=\\d|&#)`, 'gi');
// docs.gitlab.com/user/project/quick_actions: GitLab executes such a line and removes it from the text.
const quickAction = /^[ \t]*(?=\/[a-z])/gim;
const neutralised = new RegExp(
  `${zeroWidthSpace}(?:(?<=${atSign}.)(?=\\S)|(?<=${numberSign}.)(?=\\d|&#)|(?<=^[ \\t]*.)(?=\\/[a-z]))`,
  'gim',
);
// Trackers link such an address and find no mentions in a link. The pattern contains only characters at which no
// tracker ends a link. It excludes addresses after a bracket or within HTML, which are not linked.
const address = /(?<=^|[\s(*_~])https?:\/\/[a-z0-9]+(?:[.-][a-z0-9]+)*(?::\d+)?\/[\w./~%?=+:@#-]*/gi;
const textileCode = /(<pre>[\s\S]*?(?:<\/pre>|$)|(?<![\w@])@[^@\n]+@(?![\w@]))/;
// Formulas and footnotes affect which text is code, but are not part of CommonMark.
const formula = /\$`|[`~]{3}\s*math/i;

// github/cmark-gfm, src/blocks.c, open_new_blocks: a line that begins with any tag ends a table, and what follows it is
// HTML up to an empty line. To markdown-it it is a row of the table.
const htmlLine = /^(?:[ \t>+*-]|\d+[.)])*<[a-z!?/]/im;

// Supports tables as in GitHub Flavored Markdown, where a cell ends at `|` even within backticks.
const commonMark = new MarkdownIt('default', { html: true });

// The parser fills the cells that a row lacks, so 1.5 KB can make 65,000 cells; each takes 8 µs and 3 KB of memory.
const cellsMax = 5_000;

// Trackers extend an address to the next white space, so a backtick within an address does not begin code.
const extendedAddress = /(?:(?:https?|ftp):\/\/|www\.)[^\s<]*/gi;
const addressesWithBacktick = new WeakMap<object, Range[]>();
commonMark.inline.ruler.before('backticks', 'backtick_in_address', (state) => {
  const { src, pos, env } = state;
  if (src[pos] !== '`' || env.hasUncertainCode === true) return false;
  const addresses = addressesWithBacktick.get(state) ?? findAddressesWithBacktick(src);
  addressesWithBacktick.set(state, addresses);
  env.hasUncertainCode = addresses.some(([start, end]) => start < pos && pos < end);
  return false;
});

/**
 * Inserts zero-width spaces so that the tracker does not notify `@name`, link `#123` or execute quick actions: user names and
 * numbers mean something else there. Code that the tracker shows as code stays as it is; GitLab reads quick actions by a
 * different rule than CommonMark's, so there code is changed as well.
 */
export function neutralise(text: string, markup: Markup): string {
  if (markup === 'textile') {
    return text
      .split(textileCode)
      .map((part, index) => (index % 2 === 1 ? part : separate(part)))
      .join('');
  }
  if (markup === 'gitlab') return separate(text).replace(quickAction, `$&${zeroWidthSpace}`);
  return neutraliseMarkdown(text);
}

/** Undoes `neutralise`. */
export function withoutSeparators(text: string): string {
  return text.replace(neutralised, '');
}

function separate(text: string): string {
  const isInPath = pathsOf(text);
  return text.replace(active, (sign: string, at: number) => (isInPath(at) ? sign : sign + zeroWidthSpace));
}

// The parser reports no positions within a line. Therefore a mark without meaning in Markdown is inserted at each
// place, and the parser's output shows which marks are in code. The nonce in a mark is random, so a text cannot contain
// a mark.
function neutraliseMarkdown(text: string): string {
  const nonce = randomBytes(8).toString('hex');
  const mark = new RegExp(`\ue000${nonce}(\\d+)\ue000`, 'g');
  const isInPath = pathsOf(text);
  const inPath: boolean[] = [];
  const marked = text.replace(active, (sign: string, at: number) => {
    inPath.push(isInPath(at));
    return `${sign}\ue000${nonce}${inPath.length - 1}\ue000`;
  });
  if (inPath.length === 0) return text;
  // The parser takes up to 0.3 s for 65,000 characters, so it does not read texts without code.
  const isClear = /`|~~~/.test(text) && !formula.test(text) && !hasFootnote(text) && !hasLargeTables(text);
  const code = isClear ? codeOf(marked) : [];
  const inCode = new Set(
    code.flatMap((part) => Array.from(part.matchAll(mark), ([, index]) => Number(index))),
  );
  return marked.replace(mark, (_, digits: string) => {
    const index = Number(digits);
    return inCode.has(index) || inPath[index] === true ? '' : zeroWidthSpace;
  });
}

// Excludes indented code, because it depends on the surrounding lists and footnotes, whose syntax trackers extend.
function codeOf(markdown: string): string[] {
  const env: { hasUncertainCode?: boolean } & Record<string, unknown> = {};
  const tokens = commonMark.parse(markdown, env);
  const hasTable = tokens.some(({ type }) => type === 'table_open');
  if (env.hasUncertainCode === true || (hasTable && htmlLine.test(markdown))) return [];
  return tokens
    .flatMap((token): Token[] => [token, ...(token.children ?? [])])
    .filter(({ type }) => type === 'fence' || type === 'code_inline')
    .map(({ content }) => content);
}

// github/cmark-gfm, src/scanners.re: a footnote is a line with `[^` and, after any text, `]:`.
function hasFootnote(markdown: string): boolean {
  return markdown.split('\n').some((line) => {
    const start = line.indexOf('[^');
    return start >= 0 && line.includes(']:', start);
  });
}

// A table ends at an empty line, and a row has as many cells as the row with the most `|` can have.
function hasLargeTables(markdown: string): boolean {
  let columns = 0;
  let cells = 0;
  for (const line of markdown.split(/\r\n?|\n/)) {
    const separators = line.split('|').length - 1;
    if (line.trim() === '') columns = 0;
    else if (separators > 0) columns = Math.max(columns, separators + 1);
    cells += columns;
  }
  return cells > cellsMax;
}

type Range = readonly [start: number, end: number];

function findAddressesWithBacktick(block: string): Range[] {
  return Array.from(
    block.matchAll(extendedAddress),
    ({ 0: address, index }): Range => [index, index + address.length],
  ).filter(([start, end]) => block.slice(start, end).includes('`'));
}

function addressesOf(text: string): Range[] {
  const plain = /^[^[<]*/.exec(text)?.[0] ?? '';
  return Array.from(plain.matchAll(address), ({ 0: found, index }) => [index, index + found.length]);
}

/** Returns a test for signs that follow a slash in an address, as in `https://host/@name`. Call it for ascending places. */
function pathsOf(text: string): (at: number) => boolean {
  const addresses = addressesOf(text);
  let next = 0;
  return (at) => {
    while ((addresses[next]?.[1] ?? at + 1) <= at) next += 1;
    return text[at - 1] === '/' && (addresses[next]?.[0] ?? at) < at;
  };
}
