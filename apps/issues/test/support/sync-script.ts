import fc from 'fast-check';

/** An edit on one side, or a sync; `textOf` completes `text`. */
export type Step =
  | { do: 'sync' }
  | { do: 'title' | 'description' | 'comment'; side: 'local' | 'remote'; text: TextPattern }
  | { do: 'status'; side: 'local' | 'remote'; choice: number }
  /** Adds a label to one side or removes it from that side. */
  | { do: 'label'; side: 'local' | 'remote'; choice: number }
  | { do: 'priority'; choice: number }
  /** Copies the local value to the tracker. */
  | { do: 'copy'; field: 'title' | 'description' };

/** The text before and after a mark that makes the text unique. */
export type TextPattern = readonly [before: string, after: string];

const otherMarker = '<!-- issues-sync:01980c5e-0000-7000-8000-000000000000 -->';
const commentMarker = '<!-- issues-sync:comment:01980c5e-0000-7000-8000-000000000000 -->';
const fragments = [
  'word',
  ' ',
  '  ',
  '\t',
  '\n',
  '\r\n',
  '\r',
  '\n\n',
  '@octocat',
  '@\u200boctocat',
  '@',
  '#12',
  '#\u200b12',
  'acme/website#3',
  'ann@example.com',
  '/close',
  '`x`/close',
  '\n/close\n',
  '\u200b/close',
  '\u200b',
  '\u2028',
  '`@code`',
  '```\n@code #1\n```',
  '~~~\n@code',
  '<pre>@x</pre>',
  otherMarker,
  commentMarker,
  `<!-- issues-sync:a${otherMarker} -->`,
  `\n${commentMarker}`,
  '> quoted',
  'e\u0301',
  '\u{1F469}\u200d\u{1F52C}',
  '\u05d0\u05d1',
  '&#39;',
  '\\',
  '"',
  '\u0000',
  '\ud800',
];

const part = fc
  .array(fc.oneof(fc.constantFrom(...fragments), fc.string({ unit: 'grapheme', maxLength: 6 })), {
    maxLength: 3,
  })
  .map((pieces) => pieces.join(''));
const text: fc.Arbitrary<TextPattern> = fc.tuple(part, part);
const side = fc.constantFrom('local', 'remote');
const choice = fc.nat({ max: 11 });

/** Random edits on both sides and syncs between them. */
export const scripts: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ do: 'sync' }) },
    {
      weight: 8,
      arbitrary: fc.record({ do: fc.constantFrom('title', 'description', 'comment'), side, text }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('status'), side, choice }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('label'), side, choice }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('priority'), choice }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('copy'), field: fc.constantFrom('title', 'description') }),
    },
  ),
  { minLength: 2, maxLength: 12 },
);

/** Returns the text of a step; a local text contains only characters that the API accepts. */
export function textOf(step: Step & { text: TextPattern; side: 'local' | 'remote' }, number: number): string {
  const [before, after] = step.text;
  const isTitle = step.do === 'title';
  const [start, end] = isTitle ? [before, after].map((one) => [...one].slice(0, 100).join('')) : step.text;
  const text = `${start}<${number}>${end}`;
  if (step.side === 'remote') return text;
  const storable = text.toWellFormed().replaceAll('\u0000', '');
  return isTitle ? storable.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ').trim() : storable;
}
