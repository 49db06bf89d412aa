import type { MarkdownIt, StateCore, StateInline, Token } from 'markdown-it';
import { countPart } from './work-limits.ts';

// Chinese, Japanese and full-width punctuation, and the quotes of Chinese texts, are part of the sentence around an address.
const sentence =
  '(?=[\\u2014\\u2018-\\u201f\\u2026\\u3000-\\u303f\\u30a0\\u30fb\\ufe10-\\ufe6f\\uff00-\\uffef])[\\p{P}\\p{S}\\p{Z}]';
const part = `(?:(?!${sentence})[^\\s<>"\`\\\\\\p{Cc}])`;
const afterScheme = new RegExp(`(?=[\\p{L}\\p{N}])${part}+`, 'uy');
// Not within a word, a path or another address. The lengths keep the time linear.
const inText = new RegExp(
  `(?<![\\p{L}\\p{N}_./@-])www\\.(?=[\\p{L}\\p{N}])${part}+|(?<![\\w.+-])[\\w.+-]{1,64}@[a-z\\d-]{1,63}(?:\\.[a-z\\d-]{1,63})+`,
  'giu',
);

/** Links addresses in a text that are not marked as links. */
export function linkAddresses(markdown: MarkdownIt): void {
  markdown.inline.ruler.before('newline', 'address', linkScheme);
  markdown.core.ruler.push('address_in_text', linkTexts);
}

// Before the signs of an address can mean emphasis.
function linkScheme(state: StateInline, silent: boolean): boolean {
  if (silent || state.linkLevel > 0 || !state.src.startsWith('://', state.pos)) return false;
  // Reading the pending text copies it, so the source is read first.
  if (!/https?$/i.test(state.src.slice(Math.max(0, state.pos - 5), state.pos))) return false;
  const scheme = /(?<![a-z\d])https?$/i.exec(state.pending.slice(-6))?.[0];
  if (scheme === undefined) return false;
  afterScheme.lastIndex = state.pos + 3;
  const rest = withoutEnd(afterScheme.exec(state.src)?.[0] ?? '');
  if (rest === '') return false;
  state.pending = state.pending.slice(0, -scheme.length);
  const address = `${scheme}://${rest}`;
  state.push('link_open', 'a', 1).attrs = [['href', state.md.normalizeLink(address)]];
  state.push('text', '', 0).content = address;
  state.push('link_close', 'a', -1);
  state.pos += 3 + rest.length;
  return true;
}

/** Removes the punctuation after an address, and brackets that are not opened in it. */
function withoutEnd(address: string): string {
  let end = address.length;
  let open = address.split('(').length - address.split(')').length;
  for (; end > 0; end -= 1) {
    const sign = address[end - 1] ?? '';
    if (sign === ')' && open < 0) open += 1;
    else if (!"?!.,:;*_~'".includes(sign)) break;
  }
  return address.slice(0, end);
}

function linkTexts({ tokens, Token: TokenOf, md, env }: StateCore): void {
  for (const token of tokens) {
    let depth = 0;
    token.children &&= token.children.flatMap((child) => {
      depth += child.tag === 'a' ? child.nesting : 0;
      return child.type === 'text' && depth === 0
        ? linked(child, TokenOf, (href) => {
            countPart(env, 'a', 1);
            return md.normalizeLink(href);
          })
        : child;
    });
  }
}

function linked(text: Token, TokenOf: StateCore['Token'], normalize: (href: string) => string): Token[] {
  const { content, level } = text;
  if (!/@|www\./i.test(content)) return [text];
  const parts: Token[] = [];
  const add = (type: string, tag: string, nesting: -1 | 0 | 1, rest: Partial<Token>) =>
    parts.push(Object.assign(new TokenOf(type, tag, nesting), { level, ...rest }));
  let end = 0;
  for (const { 0: found, index } of content.matchAll(inText)) {
    const address = withoutEnd(found);
    const href = normalize(/^www\./i.test(address) ? `http://${address}` : `mailto:${address}`);
    add('text', '', 0, { content: content.slice(end, index) });
    add('link_open', 'a', 1, { attrs: [['href', href]] });
    add('text', '', 0, { content: address });
    add('link_close', 'a', -1, {});
    end = index + address.length;
  }
  add('text', '', 0, { content: content.slice(end) });
  return parts;
}
