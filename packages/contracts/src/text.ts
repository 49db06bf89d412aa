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
