import { z } from 'zod';

// Unicode 23.7: noncharacters are never exchanged. 23.8: U+FFF9 to U+FFFB mark annotations that plain text does not show.
const notExchanged = /[\ufff9-\ufffb]|\p{Noncharacter_Code_Point}/gu;

/**
 * Whether a text is stored and exchanged unchanged. PostgreSQL's `text` cannot store U+0000, and unpaired surrogates have
 * no UTF-8 encoding: either would cause a server error or change the text.
 */
export function isStorableText(value: string): boolean {
  return isStorableSecret(value) && value.search(notExchanged) === -1;
}

/** Replaces each code point that `isStorableText` refuses by U+FFFD. */
export function toStorableText(value: string): string {
  if (isStorableText(value)) return value;
  return value.toWellFormed().replaceAll('\u0000', '\ufffd').replace(notExchanged, '\ufffd');
}

function isStorableSecret(value: string): boolean {
  return value.isWellFormed() && !value.includes('\u0000');
}

/** A string that is stored and exchanged unchanged. */
export function text(): z.ZodString {
  return z.string().refine(isStorableText, {
    error: 'must not contain U+0000, unpaired surrogates, noncharacters or U+FFF9 to U+FFFB',
  });
}

/** A password. It is never shown, so it may contain every code point but U+0000. */
export function secretText(): z.ZodString {
  return z.string().refine(isStorableSecret, { error: 'must not contain U+0000 or unpaired surrogates' });
}

// C0, DEL and C1: characters with an effect in a terminal or log viewer.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

/** A storable string without control characters. */
export function singleLineText(): z.ZodString {
  return text().refine((value) => !controlCharacters.test(value), {
    error: 'must not contain control characters',
  });
}

// Names that differ in characters without a picture, or that change the direction of text, look like other names.
const invisible =
  /(?!\u200c|\u200d|\p{Variation_Selector}|[\u{e0020}-\u{e007f}])\p{Default_Ignorable_Code_Point}|[\u2028\u2029\u2800]/u;
// Some invisible characters belong to emoji and to words of some scripts. Elsewhere they are stray: a joiner without a letter of
// a script that joins, a sign that it combines or a mark before it and without a letter or an emoji after it; a variation
// selector without a character of which Unicode registers variations; tags outside of a flag.
const stray = [
  /(?<![\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]|(?!\p{scx=Latin}|\p{scx=Greek}|\p{scx=Cyrillic}|\p{scx=Armenian}|\p{scx=Georgian}|\p{scx=Hebrew}|\p{scx=Han}|\p{scx=Hiragana}|\p{scx=Katakana}|\p{scx=Hangul}|\p{scx=Thai})\p{L})[\u200c\u200d]/u,
  /[\u200c\u200d](?!\p{L}|\p{M}|\p{Extended_Pictographic})/u,
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier_Base}|\p{Emoji_Component})[\ufe0e\ufe0f]|[0-9#*]\ufe0f(?!\u20e3)/u,
  /(?<!\p{scx=Mongolian}|\p{scx=Han}|\p{Sm})(?![\ufe0e\ufe0f])\p{Variation_Selector}/u,
  /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]*)[\u{e0020}-\u{e007f}]/u,
];
const brailleBlank = '\u2800';
// CSS Text 3 (3): browsers show a glyph for a control character that is no white space.
const visible = new RegExp(
  `(?!${brailleBlank}|\\p{Default_Ignorable_Code_Point}|[\\s\u0085])[\\p{L}\\p{N}\\p{P}\\p{S}\\p{Cc}]`,
  'u',
);

/** Whether a text shows anything: a letter, a number, punctuation, a symbol or a control character. */
export function isVisibleText(value: string): boolean {
  return visible.test(value);
}

/** Checks that a text shows anything. */
export function isVisible() {
  return z.refine<string>(isVisibleText, { error: 'must contain visible text' });
}

// They show letters in another order than they are stored (UTR 36 2.10), so that a text or code says something else than it does.
// No keyboard makes them. Marks, embeddings and isolates, which programs add around words, do not change the order of letters.
const directionalOverride = /[\u202d\u202e]/;

/** Returns a text of another system as `isInOrder` demands it. */
export function withoutOverrides(value: string): string {
  return value.replace(/[\u202d\u202e]/g, '');
}

/** Checks that a text is shown in its own order. */
export function isInOrder() {
  return z.refine<string>((value) => !directionalOverride.test(value), {
    error: 'must not contain directional overrides (U+202D and U+202E)',
  });
}

/** Checks that a name is visible and looks different from other names. */
export function isVisibleName() {
  return z.refine<string>(
    (name) => isVisibleText(name) && !invisible.test(name) && !stray.some((one) => one.test(name)),
    { error: 'must be visible text without invisible characters' },
  );
}

/** Removes white space and directional marks, which keyboards and programs add, from both ends of a name. */
export function trimName(name: string): string {
  const isKept = (index: number) => !/[\s\u061c\u200e\u200f]/.test(name.charAt(index));
  let [start, end] = [0, name.length];
  while (start < end && !isKept(start)) start += 1;
  while (start < end && !isKept(end - 1)) end -= 1;
  return name.slice(start, end);
}

/** A UUID in the form 8-4-4-4-12, of any version and variant, as PostgreSQL's `uuid` accepts it; in lower case. */
export function uuid() {
  return z.guid({ error: 'must be a UUID' }).toLowerCase();
}

/** Checks the length in code points, as PostgreSQL and JSON Schema count characters. */
export function atMost(max: number) {
  return z.refine<string>(
    (value) => value.length <= max || (value.length <= 2 * max && [...value].length <= max),
    {
      error: `must be at most ${max} characters`,
    },
  );
}

/** A title or a name: one line that is not empty, without white space around it. `trim` removes it. */
export function oneLine(maxLength: number, trim = (value: string) => value.trim()) {
  return z
    .string()
    .overwrite(trim)
    .min(1, { error: 'must not be empty', abort: true })
    .refine((value) => isStorableText(value) && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value), {
      error: 'must be one line of text without control characters',
    })
    .check(atMost(maxLength))
    .meta({ minLength: 1, maxLength });
}
