import { LRUCache } from 'lru-cache';

/** Presented texts with what they were made of, bounded by their length. */
export type TextCache<Entry extends { text: string }> = LRUCache<string, Entry>;

/** In characters of one or two bytes: a small part of a container of 512 MiB. */
const maxCharacters = 16 * 1024 * 1024;

export function createTextCache<Entry extends { text: string }>(): TextCache<Entry> {
  return new LRUCache({
    maxSize: maxCharacters,
    // What an entry holds beside its text is small, and counted as much.
    sizeCalculation: ({ text }) => text.length + 500,
  });
}
