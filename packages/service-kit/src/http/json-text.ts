declare const represented: unique symbol;

/** JSON text that represents a `T`: a value that is serialised once and sent many times. */
export type JsonText<T> = string & { readonly [represented]: T };

/** Serialises a value and keeps its type. */
export function jsonText<T>(value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>;
}

/** An array of values that are serialised already. */
export function jsonArray<T>(items: readonly JsonText<T>[]): JsonText<T[]> {
  return `[${items.join(',')}]` as JsonText<T[]>;
}

/** An object whose members are serialised already. */
export function jsonObject<T extends object>(members: { [Name in keyof T]: JsonText<T[Name]> }): JsonText<T> {
  const texts = Object.entries(members).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  return `{${texts.join(',')}}` as JsonText<T>;
}
