import { LRUCache } from 'lru-cache';

/** Documents as JSON text, bounded by how much text they are. */
export type DocumentCache<Entry extends object | string> = LRUCache<string, Entry>;

/** Most text that one cache holds, in characters of one or two bytes: a small part of a container of 512 MiB. */
const maxCharacters = 16 * 1024 * 1024;

/** `lengthOf` answers how many characters an entry has. */
export function createDocumentCache<Entry extends object | string>(
  lengthOf: (entry: Entry) => number,
): DocumentCache<Entry> {
  return new LRUCache({
    maxSize: maxCharacters,
    sizeCalculation: (entry, key) => lengthOf(entry) + key.length,
  });
}
