import { readMarkdown } from './code.ts';
import { type Range, testOf } from './line.ts';

/** Maximum number of different names that one text can mention; later ones are ignored. */
export const namesMax = 50;
/** Maximum number of beginnings of a name that are looked up. */
const beginningsMax = 10;
const nameMax = 150;

const nameStart = /^[\p{L}\p{N}_]/u;
const nameSign = /[\p{L}\p{N}\p{M}_.+-]/u;
// Rich editors write `\_` for `_`.
const mention = new RegExp(`@(?=[\\p{L}\\p{N}_])((?:${nameSign.source}|\\\\[_.+-])+)`, 'gu');
// An address without brackets ends at a blank, a letter of another script, code, or the end of the text of a link.
const address = /(?<![A-Za-z0-9])(?:https?:\/\/|www\.)[!-;=-[\\^_a-~]*/gi;
/** A scoped package (`@types/node`), or a sign that is written as a number (`&#95;`). */
const endsNoName = /^(?:\/[\p{L}\p{N}]|&#[\dx])/iu;
const punctuation = '._+-';
// The name is part of an address whose domain follows: `@ann@example.com`.
const beforeDomain = /[A-Za-z0-9_.+-]$/;

/**
 * Returns the names that a text mentions outside code and hidden parts, in order. Each has its forms, the longest first: as
 * written, without the punctuation after it, and its beginnings up to another script. The time is linear.
 */
export function mentionedNames(text: string): string[][] {
  const names = new Map<string, string[]>();
  for (const { name } of mentionsIn(text)) {
    if (names.has(name)) continue;
    const forms = formsOf(name);
    if (forms.length > 0) names.set(name, forms);
    if (names.size >= namesMax) break;
  }
  return [...names.values()];
}

/** Returns the part before the caret of a name that is typed; undefined where a name would mention no one. */
export function startedMention(text: string, caret: number): string | undefined {
  const at = text.lastIndexOf('@', caret - 1);
  const word = text.slice(at + 1, caret);
  if (at < 0 || at >= caret || word.length > nameMax || !/^[\p{L}\p{N}\p{M}_.+-]*$/u.test(word))
    return undefined;
  // A sign stands for a name that is not typed yet.
  const isNew = word === '' && !nameStart.test(text.slice(caret));
  const typed = isNew ? `${text.slice(0, caret)}x${text.slice(caret)}` : text;
  for (const found of mentionsIn(typed)) if (found.at >= at) return found.at === at ? word : undefined;
  return undefined;
}

function* mentionsIn(text: string): Generator<{ at: number; name: string }> {
  let listEnd = -1;
  const candidates = [...text.matchAll(mention)].filter((found) => {
    const isFound = canBeMention(text, found, listEnd);
    if (isFound) listEnd = found.index + found[0].length;
    return isFound;
  });
  if (candidates.length === 0) return;
  const { code, hidden } = readMarkdown(text);
  const [inCode, isHidden] = [testOf(code), testOf(hidden)];
  const inAddress = testOf(addressesIn(text, hidden));
  for (const { 1: written = '', index: at } of candidates)
    if (!inCode(at) && !isHidden(at) && !inAddress(at)) yield { at, name: written.replaceAll('\\', '') };
}

/** Whether `@` with a name is a mention where it is text. `listEnd`: the end of the mention before it. */
function canBeMention(
  text: string,
  { 0: { length }, 1: written = '', index: at }: RegExpExecArray,
  listEnd: number,
): boolean {
  const end = at + length;
  if ((text[end] === '@' && beforeDomain.test(written)) || endsNoName.test(text.slice(end, end + 3)))
    return false;
  return (text[at - 1] === '/' && at - 1 === listEnd) || canStart(text, at);
}

function addressesIn(text: string, hidden: readonly Range[]): Range[] {
  const isHidden = testOf(hidden);
  const found: Range[] = [];
  for (const {
    0: { length },
    index: start,
  } of text.matchAll(address))
    if (!isHidden(start)) found.push({ start, end: start + length });
  return found;
}

// The signs before `@` that are read, so that the time is linear.
const lookBackMax = 200;

/** Whether `@` begins a mention: not within an e-mail address or a path, and not after `@` or a backslash. */
function canStart(text: string, at: number): boolean {
  const sign = text[at - 1];
  if (sign === '@' || sign === '\\') return false;
  if (sign === '/') return isInList(text.slice(Math.max(0, at - lookBackMax), at - 1));
  // Only ASCII can be the local part of an e-mail address, and a dot not its end. Signs alone are punctuation: `_@ann_`.
  if (sign === '.') return true;
  let start = at - 1;
  while (at - start < lookBackMax && /[_.+-]/.test(text[start] ?? '')) start -= 1;
  return !/[A-Za-z0-9]/.test(text[start] ?? '');
}

/** Whether a slash after a text separates names, as in `cc/@ann/@bob`, and is not part of a path. */
function isInList(text: string): boolean {
  const parts = text.split(/\s/).at(-1)?.split('/') ?? [];
  return parts.every((part, place) =>
    part.includes('@') ? /^[^\p{L}\p{N}]*@/u.test(part) : place === 0 && !/[.:\\]/.test(part),
  );
}

// Scripts without spaces between words, or with particles that follow a name. Each is a kind of its own.
const unspaced =
  /(\p{sc=Han})|([\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}])|(\p{sc=Hang})|([\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}])/u;
const latin = /\p{sc=Latn}/u;
const common = /[\p{sc=Common}\p{sc=Inherited}\p{M}]/u;

/** Returns the names that a mention can mean, the longest first, in normal form as usernames are (NFC). */
function formsOf(name: string): string[] {
  const beginnings = beginningsOf(name);
  const forms = [name, ...beginnings.toReversed()].flatMap((form) => [form, withoutPunctuation(form)]);
  const normal = forms.flatMap((form) => [form.normalize('NFC'), form]);
  return [...new Set(normal)].filter((form) => form !== '' && form.length <= nameMax);
}

// A pattern would look for the end from each sign of a run.
function withoutPunctuation(name: string): string {
  let end = name.length;
  while (end > 0 && punctuation.includes(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
}

// A name can end where a Latin name meets another script, and before a script without spaces; within such a script after
// any two signs.
function beginningsOf(name: string): string[] {
  const beginnings: string[] = [];
  let [place, count] = [0, 0];
  let before: string | undefined;
  // `count` signs before `place` are of the kind before.
  for (const sign of name) {
    if (place > nameMax || beginnings.length >= beginningsMax) break;
    const kind = kindOf(sign);
    if (kind !== undefined) {
      const canEnd = before === 'latin' || kind.startsWith('unspaced');
      const isChange = kind !== before;
      if (before !== undefined && canEnd && (isChange || (count > 1 && kind !== 'latin')))
        beginnings.push(name.slice(0, place));
      if (isChange) count = 0;
      before = kind;
    }
    place += sign.length;
    count += 1;
  }
  return beginnings;
}

function kindOf(sign: string): string | undefined {
  if (common.test(sign)) return undefined;
  if (latin.test(sign)) return 'latin';
  const [, ...kinds] = unspaced.exec(sign) ?? [];
  return kinds.length === 0 ? 'other' : `unspaced ${kinds.findIndex((kind) => kind !== undefined)}`;
}
