import { describe, expect, it } from '@jest/globals';
import { mentionedNames } from '@tessera/contracts/markdown';
import { neutralise } from '../src/trackers/tracker-text.ts';
import { htmlOf } from '../web/src/markdown/markdown-html.ts';

// A text costs its readers and the service a bounded time, also if its writer wants it to cost more.
const longest = 65_000;

const tokens = [
  ...[
    ' ',
    '\t',
    '\n',
    '\n\n',
    '\n    ',
    '  \n',
    'a',
    'a ',
    '\u3042',
    '\u200f',
    '\u{1f600}',
    '\u0301',
    '\u00a0',
  ],
  ...[
    '# ',
    '#',
    '- ',
    '* ',
    '1. ',
    '9)',
    '> ',
    '>',
    '- [ ] ',
    '---\n',
    '===\n',
    '~~~\n',
    '~~',
    '-|-\n',
    '|',
    '|-',
  ],
  ...[
    '`',
    '``',
    '*',
    '**',
    '_',
    '*a',
    '_a_',
    '[',
    ']',
    '(',
    ')',
    '[a](',
    '](a)',
    '![',
    '[a]',
    '[a]: ',
    '[^',
    '([',
  ],
  ...[
    '<',
    '<a',
    '<a ',
    '</a>',
    '<a b="',
    '<!--',
    '<?',
    '<![CDATA[',
    '&',
    '&amp;',
    '&#',
    '\\',
    '\\\n',
    '"',
    "'",
  ],
  ...['http://a', '://', 'www.a ', 'a@', 'a@a.a ', '@', '.', ',', '!', '?', '-', '=', '+'],
];
const starts = ['', '# a', 'a|b\n-|-\n|', '[a](', '> ', '@a'];
const repeated = (start: string, token: string, length: number) =>
  `${start}${token.repeat(Math.floor(length / token.length))}x`;

/** The milliseconds of CPU, which other processes hardly lengthen. */
function costOf(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const readers = {
  page: (text: string) => htmlOf(text),
  mentions: (text: string) => mentionedNames(`${text}\n\n@ada`),
  trackers: (text: string) => neutralise(text, 'markdown'),
};

describe('a text of 65,000 characters', () => {
  it.each(Object.entries(readers))(
    'costs %s no more for its length than a short one',
    (_name, read) => {
      const slow = starts.flatMap((start) =>
        tokens.flatMap((token) => {
          const [short = '', long = ''] = [longest / 8, longest].map((length) =>
            repeated(start, token, length),
          );
          // Eight times the length costs 64 times as much if the cost grows with its square. Below 10 ms, chance decides.
          const isSlow = () =>
            costOf(() => read(long)) >
            24 *
              Math.max(
                costOf(() => read(short)),
                10,
              );
          return isSlow() && isSlow() && isSlow() ? [{ start, token }] : [];
        }),
      );
      expect(slow).toEqual([]);
    },
    600_000,
  );

  it('becomes portions of 4,000 elements and a text of 12,000 at most, or is shown as it was written', () => {
    const texts = tokens.flatMap((token) =>
      [`${token}\n\n`, `${token}\n`, token].map((part) => part.repeat(longest / part.length)),
    );
    const counts = texts.map((text) =>
      (htmlOf(text) ?? []).map((html) => html.match(/<[a-z]/g)?.length ?? 0),
    );
    const largest = Math.max(...counts.flat());
    const most = Math.max(...counts.map((portions) => portions.reduce((sum, count) => sum + count, 0)));
    expect([largest > 500, largest <= 4_000, most > 1_000, most <= 12_000]).toEqual([true, true, true, true]);
  });

  it.each([
    ['quotes in quotes', '> '.repeat(91)],
    ['quotes in quotes with many lines', `${'>'.repeat(50)}a\n${'a\n'.repeat(30_000)}`],
    ['items in items', '- '.repeat(91)],
    ['cells', `${'a|'.repeat(300)}\n${'-|'.repeat(300)}\n${'a\n'.repeat(300)}`],
    ['links without an end', '![a '.repeat(16_000)],
    ['lines', 'a\n'.repeat(30_000)],
    ['signs of emphasis', '*a '.repeat(20_000)],
    ['addresses', 'www.a '.repeat(10_000)],
    ['letters that must be shaped', '\u0628'.repeat(4_000)],
    ['letters that change the direction', 'a\u05d0'.repeat(4_000)],
    ['lines of code', `~~~\n${'\n'.repeat(10_000)}~~~\n`],
  ])('is shown as it was written: %s', (_name, text) => {
    expect(htmlOf(`${text}x`) === undefined).toBe(true);
  });

  it.each([
    [
      'prose',
      'A sentence with *emphasis*, `code`, [a link](https://example.com/a_b) and ada@example.com.\n'.repeat(
        6,
      ),
    ],
    [
      'lists',
      `${'- An item with **words** and a few more of them.\n  - [x] Done, as @ada has written.\n'.repeat(6)}\nMore:\n`,
    ],
    [
      'a table',
      `| a | b | c |\n| --- | --- | --- |\n${'| a name of a thing | 12.50 | a remark about the thing |\n'.repeat(50)}`,
    ],
    ['a log', '```\n2026-11-21T05:33:06.125Z [error] <Worker:3> failed: *ptr == NULL && !ok (a_b_c)\n```\n'],
    [
      'a log without a fence',
      '2026-11-21T05:33:06.125Z [error] worker_3 failed: ptr is NULL (a_b_c)\n'.repeat(8),
    ],
    ['Arabic', 'هذا نص عادي من بضع كلمات في سطر واحد، وهو لا يكلف القارئ شيئًا.\n'.repeat(9)],
    [
      'quotes',
      '> > A reply to a reply, which has some words.\n>\n> A reply of a line or so.\n\nAn answer, and its reasons.\n',
    ],
  ])('is formatted if it is ordinary: %s', (_name, part) => {
    const text = `${part}\n`.repeat(Math.floor(longest / (part.length + 1)));
    expect(htmlOf(text)?.join('').length).toBeGreaterThan(longest);
  });
});
