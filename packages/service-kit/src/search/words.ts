/**
 * The words of a text, for the full-text search of PostgreSQL, which only stores and compares them. Its own parser depends on
 * the locale of the database, takes quadratic time for some texts, and finds no words in Chinese, Japanese or Thai.
 */
export type Piece =
  /** `parts`: the words between its apostrophes (`don't` is `dont`, `don` and `t`), or its numbers (`v2` is `v2` and `2`). */
  | { kind: 'word'; word: string; parts: readonly string[] }
  /** Characters, with their marks, of a script that writes no blanks. */
  | { kind: 'run'; characters: readonly string[] };

// U+02BC and the like are letters to Unicode, but people type them as apostrophes.
const apostrophes = /[\u2018\u2019\u00b4\u02b9\u02bb\u02bc\u02be\u02bf\u2032\u05f3\u05f4]/g;

// Marks that tell spellings of one word apart. Those that tell words apart stay: й, ў, ї, ѓ and ќ are letters, が is another
// syllable than か, and the marks of Indic and South-East Asian scripts are vowels and tones.
const droppedMarks = new RegExp(
  [
    '(?<![иу])\\u0306|(?<!і)\\u0308|(?<![гк])\\u0301',
    '(?![\\u0301\\u0306\\u0308\\u3099\\u309a])\\p{Script=Inherited}',
    '(?=\\p{M})[\\p{Script=Hebrew}\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Cyrillic}]',
    '\\p{Default_Ignorable_Code_Point}|\\u0640',
  ].join('|'),
  'gu',
);

// Letters without a decomposition. ς is σ at the end of a word.
const spellings: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  ß: 'ss',
  þ: 'th',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ŧ: 't',
  ŋ: 'n',
  ı: 'i',
  ς: 'σ',
};
const spelled = new RegExp(`[${Object.keys(spellings).join('')}]`, 'gu');

// The prolonged sound mark ー belongs to several scripts, so extensions are compared where they exist.
const unspaced =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
const spaced = `(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}])+`;
const pieces = new RegExp(`((?:(?=[\\p{L}\\p{M}\\p{N}])[${unspaced}])+)|${spaced}(?:'${spaced})*`, 'gu');
const asciiPieces = /[a-z0-9]+(?:'[a-z0-9]+)*/g;
const marked = /\P{M}\p{M}*|\p{M}+/gu;
const isAscii = /^[\u0000-\u007f]*$/;

// Symbols and fractions are no part of a word, although some decompose to letters and digits: Acme™, №5, 2½. Squared units
// (㎏) are written as words. U+FDFA and U+FDFB are symbols, too, of up to 18 letters.
const symbols = /(?![\u3300-\u33ff])\p{So}|[\u00bc-\u00be\u2150-\u215f\u2189\ufdfa\ufdfb]/gu;
// ①② is not 12, and 10² not 102.
const separateNumbers =
  /[\u2460-\u249b\u24ea-\u24ff\u2776-\u2793]|(?<=\p{Nd})[\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089]/gu;
/** Words with numbers that people search alone: versions, and the days, hours and seconds of ISO 8601. */
const withNumbers = /^(?:v(\d{1,9})|(\d\d)t(\d\d)|(\d{2,9})z)$/;

/** Maximum length of a stored word in UTF-16 units. Longer words are equal if they begin equally. PostgreSQL refuses 2 KB. */
const wordMaxLength = 255;

/** Reads the words of a text in order, without case, accents and other differences of spelling. Takes linear time. */
export function piecesOf(text: string): Piece[] {
  if (isAscii.test(text)) return [...text.toLowerCase().matchAll(asciiPieces)].map(([word]) => wordOf(word));
  return [...folded(text).matchAll(pieces)].map(([piece, run]) =>
    run === undefined ? wordOf(piece) : { kind: 'run', characters: piece.match(marked) ?? [] },
  );
}

function wordOf(piece: string): Piece {
  if (!piece.includes("'")) {
    const [, ...numbers] = withNumbers.exec(piece) ?? [];
    return { kind: 'word', word: cut(piece), parts: numbers.filter((number) => number !== undefined) };
  }
  return { kind: 'word', word: cut(piece.replaceAll("'", '')), parts: piece.split("'").map(cut) };
}

/**
 * Reads the words of a query as the parser of PostgreSQL stored them before this module made them: words end at blanks and
 * ASCII punctuation.
 */
export function earlierPiecesOf(text: string): Piece[] {
  const words = text.split(/[\s!-/:-@[-`{-~]+/).filter((word) => word !== '');
  return words.flatMap((word) => {
    const stored = cut(folded(word));
    return stored === '' ? [] : [{ kind: 'word', word: stored, parts: [] }];
  });
}

/** No method here depends on the locale of the process. */
function folded(text: string): string {
  return text
    .replace(apostrophes, "'")
    .replace(symbols, ' ')
    .replace(separateNumbers, ' $& ')
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(droppedMarks, '')
    .replace(spelled, (letter) => spellings[letter] ?? letter)
    .normalize('NFC');
}

/** Cuts a word to the length that is stored, and not between the halves of a code point. */
export function cut(word: string): string {
  if (word.length <= wordMaxLength) return word;
  return word.slice(0, wordMaxLength).replace(/[\ud800-\udbff]$/, '');
}
