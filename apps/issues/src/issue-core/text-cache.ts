import { LRUCache } from 'lru-cache';

/** A cache of JSON texts and their revisions, limited by their total length. */
export type TextCache<Entry extends CachedText> = LRUCache<string, Entry>;

interface CachedText {
  text: string;
  /** A second text. */
  place?: string | undefined;
}

/** Maximum number of characters, each of one or two bytes: a small part of a container with 512 MiB. */
const maxCharacters = 16 * 1024 * 1024;

export function createTextCache<Entry extends CachedText>(): TextCache<Entry> {
  return new LRUCache({
    maxSize: maxCharacters,
    // The estimated size of an entry without its texts is 500.
    sizeCalculation: ({ text, place = '' }) => text.length + place.length + 500,
  });
}
