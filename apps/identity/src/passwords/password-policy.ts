import { passwordMaxBytes } from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import { fitsBcrypt } from './password-hasher.ts';

/** Attributes of the account that are easy to guess and must not be its password. */
export interface PasswordContext {
  email: string;
  username: string;
}

type PasswordFault = 'too_short' | 'too_long' | 'too_common' | 'unchanged';

/** The 422 problem of a password, with the fault for a page in the language of the person. */
export class PasswordProblem extends ProblemError {
  readonly fault: PasswordFault;

  constructor(fault: PasswordFault, message: string, field: string) {
    super(validationProblem([{ field, message }]));
    this.fault = fault;
  }
}

interface PasswordPolicyOptions {
  /** Minimum length in code points (NIST SP 800-63B-4 3.1.1.2). */
  minLength: number;
  /** Common passwords in lower case; null without a blocklist, in tests. */
  blocklist: ReadonlySet<string> | null;
}

/** Checks the length, the blocklist and the words of the account. No composition rules, no expiry (NIST SP 800-63B-4 3.1.1.2). */
export class PasswordPolicy {
  readonly #options: PasswordPolicyOptions;

  constructor(options: PasswordPolicyOptions) {
    this.#options = options;
  }

  /** Throws a 422 problem for the field. */
  assertAcceptable(password: string, context: PasswordContext, field = 'password'): void {
    const { minLength } = this.#options;
    const refuse = (fault: PasswordFault, message: string) => {
      throw new PasswordProblem(fault, message, field);
    };
    if (Array.from(password).length < minLength)
      refuse('too_short', `must be at least ${minLength} characters`);
    if (!fitsBcrypt(password)) refuse('too_long', `must be at most ${passwordMaxBytes} bytes in UTF-8`);
    if (this.#isGuessable(password, context)) refuse('too_common', 'is too common or too easy to guess');
  }

  /** Throws a 422 problem if a person may not replace the current password by the next one. */
  assertNext({ current, next }: { current: string; next: string }, context: PasswordContext): void {
    this.assertAcceptable(next, context, 'new_password');
    if (next === current)
      throw new PasswordProblem('unchanged', 'must differ from the current password', 'new_password');
  }

  #isGuessable(password: string, context: PasswordContext): boolean {
    const { blocklist } = this.#options;
    const contextWords = ['tessera', context.username, context.email.split('@')[0] ?? '', context.email];
    const words = new Set(contextWords.map(foldedText));
    const isWord = (text: string) => blocklist?.has(text) === true || words.has(text) || isSequence(text);
    const text = foldedText(password);
    return isMadeOfWord(text, isWord) || [...words].some((word) => isNumbered(text, word));
  }
}

/** Without the differences that a person who guesses tries first: capitals and full-width letters. */
function foldedText(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

const sequences = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
];
const bothWays = sequences.flatMap((sequence) => [sequence, [...sequence].reverse().join('')]);

/** Whether a text is a part of the alphabet, of the digits or of a row of a keyboard, in either direction. */
function isSequence(text: string): boolean {
  return text.length >= 3 && bothWays.some((sequence) => sequence.includes(text));
}

/** Whether a text is a word, which may end in digits itself, with digits and signs around it. */
function isNumbered(text: string, word: string): boolean {
  const rest = text.split(word);
  return rest.length === 2 && rest.join('').length <= word.length && !/\p{L}/u.test(rest.join(''));
}

// A shorter part that is repeated is soon found by trying.
const repeatedPartMin = 5;

/**
 * Whether a text is a word, also repeated or with digits and signs around it. A word in a longer text does not count, nor one
 * with more digits and signs than letters, unless the digits are a word themselves.
 */
function isMadeOfWord(text: string, isWord: (text: string) => boolean): boolean {
  if (text === '') return false;
  if (isWord(text)) return true;
  const unit = repeatedPart(text);
  if (unit !== undefined) return unit.length < repeatedPartMin || isMadeOfWord(unit, isWord);
  for (const around of [/^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu, /^[^\p{L}\p{M}]+|[^\p{L}\p{M}]+$/gu]) {
    const removed = (text.match(around) ?? []).join('');
    if (removed === '' || removed === text) continue;
    const rest = text.replace(around, '');
    const isShort = rest.length >= removed.length || isWord(removed.replace(/[^\p{N}]/gu, ''));
    if (isShort && isMadeOfWord(rest, isWord)) return true;
  }
  return false;
}

/** The part that a text repeats, with or without signs between; undefined if it repeats none. */
function repeatedPart(text: string): string | undefined {
  const [first = '', ...others] = text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((part) => part !== '');
  if (others.length > 0 && others.every((part) => part === first)) return first;
  const length = `${text}${text}`.indexOf(text, 1);
  return length < text.length ? text.slice(0, length) : undefined;
}
