import { domainToUnicode } from 'node:url';
import { phraseWordsMax } from '@tessera/contracts';
import { cut, earlierPiecesOf, type Piece, piecesOf } from './words.ts';

/** A search as a literal of `tsquery`. */
export interface WordQuery {
  query: string;
  /** Whether it contains the beginning of a word. */
  hasPrefix: boolean;
  /** Whether it excludes a word. */
  hasExcluded: boolean;
}

interface Atom {
  word: string;
  isPrefix: boolean;
  /** Whether it is one character of a script without blanks. */
  isLone?: boolean;
  /** The distance of the next word of a phrase. */
  length: number;
}

/** A part of a search between blanks, or in quotes. */
interface Term {
  /** Its words, and if they differ, those that earlier releases have stored. */
  spellings: Atom[][];
  isExcluded: boolean;
}

// An excluded or a plain phrase in quotes, or a text between blanks and quotes.
const terms = /(-?)"([^"]*)"|([^\s"]+)/g;
// Phones and word processors write these for `"`.
const quotes = /[\u201c-\u201f\u00ab\u00bb\u300c-\u300f]/g;
const isExcluding = /^-(?=[\p{L}\p{N}])/u;
const endsInWord = /[\p{L}\p{N}\p{M}]$/u;
/** Of the characters that stand alone in a script without blanks. PostgreSQL reads the rows of all words that begin with one. */
const loneCharactersMax = 4;
/** A key or a number, which is searched as it is. */
const isNumber = /^(?:\w+-)?\d+$/;

/**
 * Reads a search: words, "phrases", -excluded, or. Words that punctuation joins are a phrase. The last word may be the
 * beginning of a word, from three letters, or from two of Hangul; so may the first four single characters of scripts without blanks.
 */
export function wordQuery(search: string): WordQuery {
  const alternatives = alternativesOf(search);
  const all = alternatives.flat();
  const atoms = all.flatMap(({ spellings }) => spellings).flat();
  for (const lone of atoms.filter(({ isLone }) => isLone).slice(loneCharactersMax)) lone.isPrefix = false;
  let room = phraseWordsMax;
  const write = ({ spellings, isExcluded }: Term): string => {
    const { length } = spellings[0] ?? [];
    const isPhrase = length === 1 || length <= room;
    if (isPhrase && length > 1) room -= length;
    const written = spellings.map((words) => (isPhrase ? phraseOf(words) : allOf(words)));
    return `${isExcluded ? '!' : ''}(${written.join(' | ')})`;
  };
  return {
    query: alternatives.map((group) => group.map(write).join(' & ')).join(' | '),
    hasPrefix: atoms.some(({ isPrefix }) => isPrefix),
    hasExcluded: all.some(({ isExcluded }) => isExcluded),
  };
}

/** The terms of a search between its `or`. */
function alternativesOf(typed: string): Term[][] {
  const search = typed.replace(quotes, '"');
  const found = [...search.matchAll(terms)];
  const mayEndInBeginning = endsInWord.test(search) && !isNumber.test(search);
  const alternatives: Term[][] = [];
  let current: Term[] = [];
  found.forEach(([text, minus, quoted, plain = ''], index) => {
    const isLast = index === found.length - 1;
    if (/^or$/i.test(text) && current.length > 0 && !isLast) {
      alternatives.push(current);
      current = [];
      return;
    }
    const isExcluded = quoted === undefined ? isExcluding.test(plain) : minus === '-';
    const spellings = spellingsOf(quoted ?? plain);
    if (spellings.length === 0) return;
    current.push({ spellings, isExcluded });
    if (!isLast || !mayEndInBeginning || isExcluded || quoted !== undefined) return;
    for (const last of spellings.flatMap((words) => words.slice(-1))) last.isPrefix ||= isLong(last);
  });
  return [...alternatives, current].filter((group) => group.length > 0);
}

/**
 * Reads what people type to find a name or an e-mail, whose domain is stored in Unicode: each word is the beginning of a word.
 * Returns a literal of `tsquery`.
 */
export function prefixQuery(typed: string): string {
  const unicode = typed.replace(/\bxn--[a-z0-9-]+/gi, (label) => domainToUnicode(label) || label);
  const found = unicode.split(/\s+/).map((text) => {
    const words = piecesOf(text).map(beginningOf).join(' & ');
    const earlier = earlierPiecesOf(text).map(beginningOf).join(' & ');
    return words === '' || words === earlier ? words : `(${words} | ${earlier})`;
  });
  return [...new Set(found)].filter((words) => words !== '').join(' & ');
}

function beginningOf(piece: Piece): string {
  const atoms = atomsOf(piece);
  if (piece.kind === 'word') return literalOf({ word: piece.word, isPrefix: true });
  return atoms.length > phraseWordsMax ? allOf(atoms) : `(${phraseOf(atoms)})`;
}

/** A text without words has no spelling, also if earlier releases took its signs for words: it would be found in no other row. */
function spellingsOf(text: string): Atom[][] {
  const words = piecesOf(text).flatMap(atomsOf);
  const earlier = earlierPiecesOf(text).flatMap(atomsOf);
  if (words.length === 0) return [];
  return allOf(words) === allOf(earlier) || earlier.length === 0 ? [words] : [words, earlier];
}

function atomsOf(piece: Piece): Atom[] {
  if (piece.kind === 'word') return [{ word: piece.word, isPrefix: false, length: 1 }];
  const { characters } = piece;
  const [only = ''] = characters;
  if (characters.length === 1) return [{ word: cut(only), isPrefix: true, isLone: true, length: 1 }];
  return characters.slice(0, -1).map((character, index) => ({
    word: cut(character + characters[index + 1]),
    isPrefix: false,
    length: index === characters.length - 2 ? 2 : 1,
  }));
}

// A single character of a script without blanks is a beginning anyway, and two are a whole word.
function isLong({ word, length }: Atom): boolean {
  return length === 1 && [...word].length >= (/\p{Script=Hangul}/u.test(word) ? 2 : 3);
}

function phraseOf(atoms: readonly Atom[]): string {
  return atoms
    .map((atom, index) => (index === 0 ? '' : ` <${atoms[index - 1]?.length}> `) + literalOf(atom))
    .join('');
}

function allOf(atoms: readonly Atom[]): string {
  return atoms.map(literalOf).join(' & ');
}

function literalOf({ word, isPrefix }: Pick<Atom, 'word' | 'isPrefix'>): string {
  return `'${word.replaceAll("'", "''")}'${isPrefix ? ':*' : ''}`;
}
