import type { RecordedStatement } from './statement-recorder.ts';

/** The statements of one request, with places where another request's values go. */
export interface Recipe {
  statements: RecipeStatement[];
}

export interface RecipeStatement {
  text: string;
  /** A value as it was, or the name of the place. */
  values: ({ value: string | null } | { place: string })[];
}

// A service counts requests beside the one it answers; that is one of the checks, and no part of the work.
const accounting = /\brate_limits\b/;

/** @param places what stood where in the recorded request, by name: `{ id: '…' }` */
export function recipeOf(
  statements: readonly RecordedStatement[],
  places: Readonly<Record<string, string>>,
): Recipe {
  const names = new Map(Object.entries(places).map(([name, value]) => [value, name]));
  return {
    statements: statements
      .filter(({ text }) => !accounting.test(text))
      .map(({ text, values }) => ({
        text,
        values: values.map((value) => {
          const place = value === null ? undefined : names.get(value);
          return place === undefined ? { value } : { place };
        }),
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
    return value;
  });
}
