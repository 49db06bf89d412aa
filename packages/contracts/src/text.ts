import { z } from 'zod';

/**
 * PostgreSQL `text` cannot hold U+0000, and an unpaired surrogate has no UTF-8 form:
 * both would surface as a server error or as silently altered text.
 */
export function isStorableText(value: string): boolean {
  return value.isWellFormed() && !value.includes('\u0000');
}

/** A string that can be stored and read back unchanged. */
export function text(): z.ZodString {
  return z.string().refine(isStorableText, { error: 'must not contain U+0000 or unpaired surrogates' });
}

// C0, DEL and C1: what a terminal or a log viewer would act on.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

/** A storable string on one line: no control characters. */
export function singleLineText(): z.ZodString {
  return text().refine((value) => !controlCharacters.test(value), {
    error: 'must not contain control characters',
  });
}

/** Any 8-4-4-4-12 hexadecimal UUID, all versions and variants, as PostgreSQL's `uuid` takes it; lower-cased. */
export function uuid() {
  return z.guid({ error: 'must be a UUID' }).toLowerCase();
}
