import fc from 'fast-check';

/** What somebody does on one of the sides, or a sync; `text` is completed by `textOf`. */
export type Step =
  | { do: 'sync' }
  | { do: 'title' | 'description' | 'comment'; side: 'here' | 'there'; text: TextPattern }
  | { do: 'status'; side: 'here' | 'there'; choice: number }
  | { do: 'priority'; choice: number }
  /** Somebody there types what already stands here. */
  | { do: 'copy'; field: 'title' | 'description' };

/** A text around a mark that makes it the only one of its kind. */
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
const side = fc.constantFrom('here', 'there');
const choice = fc.nat({ max: 11 });

/** Two random scripts of edits, one for each side, that meet in syncs. */
export const scripts: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ do: 'sync' }) },
    {
      weight: 8,
      arbitrary: fc.record({ do: fc.constantFrom('title', 'description', 'comment'), side, text }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('status'), side, choice }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('priority'), choice }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('copy'), field: fc.constantFrom('title', 'description') }),
    },
  ),
  { minLength: 2, maxLength: 12 },
);

/** The text of the step with this number; here it is one that may be typed here. */
export function textOf(step: Step & { text: TextPattern; side: 'here' | 'there' }, number: number): string {
  const [before, after] = step.text;
  const isTitle = step.do === 'title';
  const [start, end] = isTitle ? [before, after].map((one) => [...one].slice(0, 100).join('')) : step.text;
  const text = `${start}<${number}>${end}`;
  if (step.side === 'there') return text;
  const storable = text.toWellFormed().replaceAll('\u0000', '');
  return isTitle ? storable.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ').trim() : storable;
}
