import type { RecordedStatement } from './statement-recorder.ts';

/** The statements of one request, with places where another request's values go. */
export interface Recipe {
  statements: RecipeStatement[];
}

export interface RecipeStatement {
  text: string;
  /** A value as it was, or the name of a place and what stands around it, such as the braces of an array. */
  values: ({ value: string | null } | { place: string; before: string; after: string })[];
}

// A service counts requests beside the one it answers; that is one of the checks, and no part of the work.
const accounting = /\brate_limits\b/;

/** @param places what stood where in the recorded request, by name: `{ id: '…' }` */
export function recipeOf(
  statements: readonly RecordedStatement[],
  places: Readonly<Record<string, string>>,
): Recipe {
  return {
    statements: statements
      .filter(({ text }) => !accounting.test(text))
      .map(({ text, values }) => ({
        text,
        values: values.map((value) => placed(value, places)),
      })),
  };
}

/** The values of a statement for a request. @throws Error when one is not given */
export function valuesFor(
  { values }: RecipeStatement,
  given: Readonly<Record<string, string>>,
): (string | null)[] {
  return values.map((item) => {
    if ('value' in item) return item.value;
    const value = given[item.place];
    if (value === undefined) throw new Error(`no value for ${item.place}`);
    return `${item.before}${value}${item.after}`;
  });
}

// An array of one value is its literal: `{"…"}`.
function placed(
  value: string | null,
  places: Readonly<Record<string, string>>,
): RecipeStatement['values'][number] {
  const around = [
    ['', ''],
    ['{', '}'],
    ['{"', '"}'],
  ] as const;
  for (const [place, own] of Object.entries(places)) {
    for (const [before, after] of around) {
      if (value === `${before}${own}${after}`) return { place, before, after };
    }
  }
  return { value };
}
