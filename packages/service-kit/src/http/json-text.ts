declare const represented: unique symbol;

/** JSON text that represents a `T`: a value that is serialised once and sent many times. */
export type JsonText<T> = string & { readonly [represented]: T };

/** Serialises a value and keeps its type. */
export function jsonText<T>(value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>;
}

/** Joins serialised values to a JSON array. */
export function jsonArray<T>(items: readonly JsonText<T>[]): JsonText<T[]> {
  return `[${items.join(',')}]` as JsonText<T[]>;
}

/** Joins serialised members to a JSON object. */
export function jsonObject<T extends object>(members: { [Name in keyof T]: JsonText<T[Name]> }): JsonText<T> {
  const texts = Object.entries(members).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  return `{${texts.join(',')}}` as JsonText<T>;
}

/** Maximum size of a page of a list, in bytes of UTF-8, unless one item alone exceeds it. */
export const pageBytesMax = 512 * 1024;

/**
 * Presents the first rows as a page that ends after `size` items, or before the item that would exceed `pageBytesMax`.
 * `end` is the last row of the page if more rows are given.
 */
export function jsonPage<Row, Item>(
  rows: readonly Row[],
  size: number,
  present: (row: Row) => Item,
): { body: JsonText<Item[]>; end: Row | undefined } {
  const items: JsonText<Item>[] = [];
  let bytes = 0;
  for (const row of rows.slice(0, size)) {
    const item = jsonText(present(row));
    bytes += Buffer.byteLength(item) + 1;
    if (items.length > 0 && bytes > pageBytesMax) break;
    items.push(item);
  }
  return { body: jsonArray(items), end: rows.length > items.length ? rows[items.length - 1] : undefined };
}
