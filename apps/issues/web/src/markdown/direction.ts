import type { Token } from 'markdown-it';

const letter = /\p{L}/u;
// Hebrew, Arabic, Syriac, Thaana, N'Ko and their neighbours, with presentation forms; Adlam and others.
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const texts = new Set(['paragraph_open', 'heading_open', 'th_open', 'td_open', 'fence', 'code_block']);
const containers = new Set([
  'bullet_list_open',
  'ordered_list_open',
  'list_item_open',
  'blockquote_open',
  'table_open',
]);

/**
 * Gives each block a direction. A block of text has its own, `auto`. `auto` does not look into blocks with a direction, so
 * what contains such blocks has that of its first letter: then signs of lists and lines of quotes are on the right side.
 */
export function direct(tokens: readonly Token[]): void {
  const open: Token[] = [];
  for (const [place, token] of tokens.entries()) {
    // Code has its own direction, or brackets at its end change sides. It does not decide about the text around it.
    for (const child of token.children ?? []) if (child.type === 'code_inline') child.attrSet('dir', 'auto');
    if (containers.has(token.type)) {
      const isTight = tokens[place + 1]?.hidden === true;
      if (token.type === 'list_item_open' && isTight) token.attrSet('dir', 'auto');
      else open.push(token);
    } else if (texts.has(token.type)) {
      token.attrSet('dir', 'auto');
    }
    if (open.length === 0) continue;
    const first = letter.exec(token.type === 'inline' ? textOf(token) : '')?.[0];
    if (first === undefined) continue;
    // All that are open begin with this letter.
    for (const container of open) container.attrSet('dir', rightToLeft.test(first) ? 'rtl' : 'ltr');
    open.length = 0;
  }
}

function textOf({ children }: Token): string {
  return (children ?? [])
    .map(({ type, content }) => (type === 'html_inline' || type === 'code_inline' ? '' : content))
    .join(' ');
}
