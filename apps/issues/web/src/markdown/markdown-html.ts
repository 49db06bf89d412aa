import type { AttachedFile } from '@tessera/contracts';
import MarkdownIt, { type RendererRule, type StateBlock } from 'markdown-it';
import { contentPath, isPicture, sizeText } from '../files/attached.ts';
import { linkAddresses } from './addresses.ts';
import { direct } from './direction.ts';
import { limitWork, portionsOf, TooMuchWork } from './work-limits.ts';

const markdown = new MarkdownIt({ html: true, breaks: true });
// The sanitizer decides about addresses. Otherwise a link would be text here and a link elsewhere.
markdown.validateLink = () => true;
const { escapeHtml } = markdown.utils;
markdown.use(linkAddresses);
markdown.use(limitWork);

const { ruler } = markdown.block;
const [html, , underlined, paragraph] = ruler.getRules('').slice(-4);
const lineOf = (state: StateBlock, line: number) =>
  state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);

// `[^1]: text` is a footnote elsewhere. As the definition of a link, its text would vanish.
ruler.before('reference', 'footnote', (state, line, end, silent) => {
  if (silent || !lineOf(state, line).startsWith('[^')) return false;
  return [underlined, paragraph].some((rule) => rule?.(state, line, end, silent));
});

// As on GitHub, HTML ends a table.
ruler.before(
  'html_block',
  'html_after_table',
  (state, line, end, silent) =>
    silent &&
    (/^<\/?[a-z][^<>]*>\s*$/i.test(lineOf(state, line)) || html?.(state, line, end, silent) === true),
  { alt: ['table'] },
);

const task = /^\[([ xX])\](?=\s)/;

markdown.core.ruler.push('page', ({ tokens, Token: TokenOf }) => {
  for (const [place, token] of tokens.entries()) {
    // The page has the headings of the levels 1 and 2.
    if (token.type.startsWith('heading_')) token.tag = `h${Math.min(Number(token.tag[1]) + 2, 6)}`;
    const align = /^text-align:(\w+)$/.exec(String(token.attrGet('style')))?.[1];
    if (align !== undefined) token.attrs = [['align', align]];
    for (const child of token.children ?? []) if (child.tag === 's') child.tag = 'del';
    const [first] = token.children ?? [];
    const [, state] = task.exec(first?.content ?? '') ?? [];
    if (first?.type !== 'text' || state === undefined || tokens[place - 2]?.type !== 'list_item_open')
      continue;
    first.content = first.content.slice(3);
    token.children?.unshift(
      Object.assign(new TokenOf('task', 'input', 0), { info: state, meta: token.map?.[0] }),
    );
  }
  direct(tokens);
});

const { rules } = markdown.renderer;

/** Shows HTML as text: the parser of the sanitizer would request scripts and images, which the policy blocks. Comments are hidden. */
function htmlText(html: string): string {
  let [text, end] = ['', 0];
  for (let start = html.indexOf('<!--'); start >= 0; start = html.indexOf('<!--', end)) {
    const closing = html.indexOf('-->', start + 2);
    text += html.slice(end, start);
    end = closing < 0 ? html.length : closing + 3;
  }
  return escapeHtml((text + html.slice(end)).trim());
}

rules.html_inline = (tokens, place) => htmlText(tokens[place]?.content ?? '');
rules.html_block = (tokens, place) => {
  const text = htmlText(tokens[place]?.content ?? '');
  return text === '' ? '' : `<p dir="auto">${text.replaceAll('\n', '<br>\n')}</p>\n`;
};
rules.task = (tokens, place) =>
  `<input type="checkbox" disabled="" data-line="${tokens[place]?.meta}"${tokens[place]?.info === ' ' ? '' : ' checked=""'}>`;

const code: RendererRule = (tokens, place) =>
  `<pre dir="auto"><code>${escapeHtml(tokens[place]?.content ?? '')}</code></pre>\n`;
rules.fence = code;
rules.code_block = code;

/** What the rules know while they render a text. */
interface Rendered {
  [name: PropertyKey]: unknown;
  files?: readonly AttachedFile[];
  isInLink?: boolean;
  /** What ends the link. */
  end?: string;
}

// As the service reads it: what follows the id does not count.
const ofFile = /^attachment:([0-9a-f-]{36})(?![0-9a-f-])/i;

/** The file that an address names; null if the text has no such file, undefined for another address. */
function fileOf(href: string, { files = [] }: Rendered): AttachedFile | null | undefined {
  const id = ofFile.exec(href)?.[1]?.toLowerCase();
  return id === undefined ? undefined : (files.find((file) => file.id === id) ?? null);
}

const notFound = ' <em>(file not found)</em>';
const sizeOf = ({ size }: AttachedFile) => ` (${sizeText(size)})`;

// A link contains no other link, so an image in a link is its text. The name of a file that is missing is no link.
rules.link_open = (tokens, place, options, env: Rendered = {}, self) => {
  const link = tokens[place];
  const file = fileOf(String(link?.attrGet('href') ?? ''), env);
  env.isInLink = true;
  env.end = file === null ? notFound : `</a>${file === undefined ? '' : sizeOf(file)}`;
  if (file != null) link?.attrSet('href', contentPath(file.id));
  return file === null ? '' : self.renderToken(tokens, place, options);
};
rules.link_close = (_tokens, _place, _options, env: Rendered = {}) => {
  env.isInLink = false;
  return env.end ?? '</a>';
};

// An image of another site would report its readers there, and the policy blocks it. A picture of the issue is shown.
rules.image = (tokens, place, options, env: Rendered = {}, self) => {
  const image = tokens[place];
  const href = String(image?.attrGet('src') ?? '');
  const file = fileOf(href, env);
  const alt = self.renderInlineAsText(image?.children ?? [], options, env);
  const text = escapeHtml(alt || (file?.name ?? href));
  if (file === null) return text + (env.isInLink === true ? '' : notFound);
  const link = (content: string, target = href) =>
    env.isInLink === true ? content : `<a href="${escapeHtml(target)}">${content}</a>`;
  if (file === undefined) return link(text);
  const path = contentPath(file.id);
  if (!isPicture(file)) return link(text, path) + sizeOf(file);
  return link(
    `<img src="${path}" alt="${text}" width="${file.width}" height="${file.height}" loading="lazy">`,
    path,
  );
};

/**
 * Returns the HTML of a text, before it is sanitized, in portions that each contain whole elements; undefined if it would
 * cost a reader too much.
 * @param files those that the text can show
 */
export function htmlOf(text: string, files: readonly AttachedFile[] = []): string[] | undefined {
  const env: Rendered = { files };
  try {
    return portionsOf(markdown.parse(text, env)).map((tokens) =>
      markdown.renderer.render(tokens, markdown.options, env),
    );
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined;
    throw error;
  }
}
