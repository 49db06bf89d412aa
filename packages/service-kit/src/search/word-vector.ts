import { cut, piecesOf } from './words.ts';

/** A text to search. */
export interface SearchedText {
  text: string;
  /** Maximum number of characters that are searched; all by default. */
  limit?: number;
  /** A mark on its words, by which `ts_filter` selects them. */
  weight?: 'A' | 'B' | 'C';
}

/** Places that PostgreSQL stores: numbers up to 16,383, and at most 256 of a word. */
const placeMax = 16_383;
const placesMax = 256;
/** The distance of two texts, which no phrase spans. */
const gap = 10;

/**
 * The words of texts with their places as a literal of `tsvector`. A text has at most one word for two of its `limit`
 * characters, as a text in words and blanks has at most.
 */
export function wordVector(...texts: readonly SearchedText[]): string {
  const places = new Map<string, Set<string>>();
  let place = gap;
  for (const { text, limit = Infinity, weight = '' } of texts) {
    const room = places.size + limit / 2;
    const add = (word: string, at: number) => {
      const known = places.get(word) ?? new Set();
      if (known.size === 0 && places.size >= room) return;
      if (known.size < placesMax) places.set(word, known.add(`${Math.min(at, placeMax)}${weight}`));
    };
    for (const piece of piecesOf(beginningOf(text, limit))) {
      if (piece.kind === 'word') {
        for (const word of [piece.word, ...piece.parts]) add(word, place);
        place += 1;
      } else {
        // Each character with the next one. The last one alone, so that each is the beginning of a word.
        const { characters } = piece;
        characters.forEach((character, index) => {
          add(cut(character + (characters[index + 1] ?? '')), place + index);
        });
        place += characters.length;
      }
    }
    place += gap;
  }
  return [...places].map(([word, at]) => `'${word}':${[...at].join(',')}`).join(' ');
}

function beginningOf(text: string, limit: number): string {
  return text.length <= limit ? text : (new RegExp(`^.{0,${limit}}`, 'su').exec(text)?.[0] ?? '');
}
