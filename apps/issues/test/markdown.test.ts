import { describe, expect, it } from '@jest/globals';
import { mentionedNames, readMarkdown, startedMention, testOf } from '@tessera/contracts/markdown';
import fc from 'fast-check';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { type DefaultTreeAdapterMap, parseFragment } from 'parse5';
import { neutralise } from '../src/trackers/tracker-text.ts';
import { htmlOf } from '../web/src/markdown/markdown-html.ts';

type Node = DefaultTreeAdapterMap['node'];

const textOf = (node: Node): string =>
  node.nodeName === '#text' && 'value' in node
    ? node.value
    : 'childNodes' in node
      ? node.childNodes.map(textOf).join('')
      : '';

/** Returns the texts of the code in HTML, and all other texts. */
function textsOf(html: string): { code: string; plain: string } {
  const found = { code: '', plain: '' };
  const visit = (node: Node) => {
    if (node.nodeName === 'code') found.code += `${textOf(node)}\n`;
    else if (node.nodeName === '#text' && 'value' in node) found.plain += `${node.value}\n`;
    else if ('childNodes' in node) node.childNodes.forEach(visit);
  };
  visit(parseFragment(html));
  return found;
}

const rendered = (markdown: string) =>
  micromark(markdown, { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true });

const blocks = [
  ...[
    '\n',
    '\n\n',
    '\n\n',
    '- ',
    '* ',
    '1. ',
    '7) ',
    '  - ',
    '> ',
    '> > ',
    '# ',
    '---\n',
    '===\n',
    '   ',
    '    ',
  ],
  ...[
    '      ',
    '\t',
    '\n\n    ',
    '\n\n      ',
    '```\n',
    '```js\n',
    '\n```\n',
    '~~~\n',
    '\n~~~\n',
    '| ',
    ' | ',
  ],
  ...['\n| a | b |\n|---|---|\n', '<div>\n', '\n</div>\n', '<!-- ', ' -->', '\r\n'],
];
const inlines = [
  ...[
    '`',
    '``',
    '`` ` ``',
    '\\`',
    '**',
    '*',
    'word ',
    'пример ',
    '例え',
    '（',
    '"',
    '(',
    '<b>',
    '</b>',
    '\\\\',
  ],
  ...[
    '[a](/x) ',
    '[',
    '](/x)',
    '[^1]: ',
    '[^1] ',
    '[ ] ',
    'https://h.example/`',
    'https://h.example ',
    '&amp; ',
  ],
];
// A number stands for a name of its own, so that each place can be found in what is shown.
const texts = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...blocks) },
      { weight: 3, arbitrary: fc.constantFrom(...inlines) },
      { weight: 4, arbitrary: fc.constantFrom(' @? ', ' (@?)', '`@?`', '、@?さん') },
    ),
    { minLength: 4, maxLength: 24 },
  )
  .map((parts) => {
    let count = 0;
    return parts.join('').replaceAll('?', () => {
      count += 1;
      return `n${count}z`;
    });
  })
  .filter((text) => text.includes('@'));

// MARKDOWN_TEXTS=100000 npx pnpm@12 --filter @tessera/issues test markdown
const numRuns = Number(process.env.MARKDOWN_TEXTS ?? 200);
const seed = Number(process.env.MARKDOWN_SEED ?? 1);
const places = (text: string) =>
  Array.from(text.matchAll(/@(n\d+z)/g), ({ 0: { length }, 1: name = '', index }) => ({
    name,
    at: index,
    end: index + length,
  }));

describe('what is code and who is mentioned', () => {
  it('is the same in mentions, the list of completions, the page and what is sent to trackers', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const page = textsOf((htmlOf(text) ?? []).join(''));
        const mentioned = mentionedNames(text).flat();
        const { code } = readMarkdown(text);
        const inCode = (at: number) => testOf(code)(at);
        const sent = neutralise(text, 'markdown');
        const mayDiffer = text.includes('[^1]:') || /https:[^\s<]*`/.test(text);
        for (const { name, at, end } of places(text)) {
          const isShown = page.plain.includes(name);
          const isCode = page.code.includes(name);
          const isMention = mentioned.includes(name);
          // The language of a fence is not shown.
          if (isShown || isCode) expect({ name, isCode: inCode(at) }).toEqual({ name, isCode });
          // A backslash before `@` is an escape, and a slash may make it a path.
          if (!/[\\/]$/.test(text.slice(0, at)))
            expect({ name, isMention }).toEqual({ name, isMention: isShown });
          expect({ name, word: startedMention(text, end) }).toEqual({
            name,
            word: isMention ? name : undefined,
          });
          // Trackers have footnotes, and backticks in addresses: there, nothing is left as code.
          if (!mayDiffer)
            expect({ name, isChanged: sent.includes(`@\u200b${name}`) }).toEqual({
              name,
              isChanged: !inCode(at),
            });
        }
      }),
      { numRuns, seed },
    );
  }, 3_600_000);

  it('occurs in the generated texts in each way', () => {
    const samples = fc.sample(texts, { numRuns: 200, seed });
    const names = samples.flatMap((text) =>
      places(text).map(({ at }) => testOf(readMarkdown(text).code)(at)),
    );
    expect(names.filter(Boolean).length).toBeGreaterThan(200);
    expect(names.filter((isCode) => !isCode).length).toBeGreaterThan(200);
  });

  it.each([
    'a\n\n    @n1z\n\nb @n2z',
    'a\n    @n1z',
    '- a\n\n      @n1z\n\n  b @n2z\n\n      @n3z',
    '1. a\n\n   @n1z\n\n       @n2z',
    '-     @n1z\n  @n2z',
    '> \t\t@n1z\n>\n> @n2z',
    '\t@n1z\n \t@n2z',
    '- ```\n  @n1z\n@n2z',
    '> ```\n> @n1z\n@n2z',
    '- a\n  ```\n  @n1z\n\n  @n2z\n  ```\n  @n3z',
    '~~~ `a`\n@n1z\n~~~~\n@n2z',
    '[a `@n1z`](/x) ![b `c`](/x) `@n2z`',
    '<a title="`"> @n1z `',
    '<b>\n\n    @n1z\n</b>\n`@n2z`',
    '| `a | @n1z` |\n|---|---|\n| @n2z | `@n3z` |',
    '|a|b|\n|-|-|\n| `\\|@n1z` | @n2z |',
    'a\n===\n    @n1z',
    '# a\n    @n1z',
  ])('is that of CommonMark in %j', (text) => {
    const { code } = textsOf(rendered(text));
    const page = textsOf((htmlOf(text) ?? []).join('')).code;
    const inCode = testOf(readMarkdown(text).code);
    for (const { name, at } of places(text)) {
      const expected = { name, isCode: code.includes(name) };
      expect({ name, isCode: inCode(at) }).toEqual(expected);
      expect({ name, isCode: page.includes(name) }).toEqual(expected);
    }
  });
});
