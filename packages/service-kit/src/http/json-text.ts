declare const represented: unique symbol;

/** JSON text that represents a `T`: a value that is serialised once and sent many times. */
export type JsonText<T> = string & { readonly [represented]: T };

/** Serialises a value and keeps its type. */
export function jsonText<T>(value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>;
}
