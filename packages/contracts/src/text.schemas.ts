import { z } from 'zod';

/**
 * PostgreSQL's `text` cannot store U+0000, and unpaired surrogates have no UTF-8 encoding: either would cause a server
 * error or change the text.
 */
export function isStorableText(value: string): boolean {
  return value.isWellFormed() && !value.includes('\u0000');
}

/** A string that PostgreSQL stores unchanged. */
export function text(): z.ZodString {
  return z.string().refine(isStorableText, { error: 'must not contain U+0000 or unpaired surrogates' });
}

// C0, DEL and C1: characters with an effect in a terminal or log viewer.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

/** A storable string without control characters. */
export function singleLineText(): z.ZodString {
  return text().refine((value) => !controlCharacters.test(value), {
    error: 'must not contain control characters',
  });
}

// Joiners, variation selectors and tags belong to emoji and to words of some scripts. Names that differ in other invisible
// characters, or that change the direction of text, look like other names.
const invisible = /(?!\u200c|\u200d|[\ufe00-\ufe0f]|[\u{e0020}-\u{e007f}])\p{Default_Ignorable_Code_Point}/u;
const brailleBlank = '\u2800';
const visible = new RegExp(`(?!${brailleBlank})[\\p{L}\\p{N}\\p{P}\\p{S}]`, 'u');

/** Checks that a name is visible and looks different from other names. */
export function isVisibleName() {
  return z.refine<string>((name) => visible.test(name) && !invisible.test(name), {
    error: 'must be visible text without invisible characters',
  });
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

/** A title or a name: one line that is not empty, without white space around it. */
export function oneLine(maxLength: number) {
  return z
    .string()
    .trim()
    .min(1, { error: 'must not be empty' })
    .refine((value) => isStorableText(value) && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value), {
      error: 'must be one line of text without control characters',
    })
    .check(atMost(maxLength))
    .meta({ minLength: 1, maxLength });
}
