import { describe, expect, it } from '@jest/globals';
import { canonicalEmail, emailSchema, lookupEmailSchema, normalEmail } from '../src/index.ts';
import { decisions, isEmailTable } from './support/is-email.ts';

describe('the addresses of is_email', () => {
  it('are 164, of which is_email refuses 66', () => {
    expect(new Set(isEmailTable.map(([address]) => address)).size).toBe(163);
    expect(isEmailTable).toHaveLength(164);
    expect(isEmailTable.filter(([, diagnosis]) => diagnosis.startsWith('ERR_'))).toHaveLength(66);
  });

  it('are accepted where is_email calls them valid, and refused where it refuses them, with one exception', () => {
    const decided = (pattern: RegExp) =>
      new Set(isEmailTable.flatMap(([, diagnosis, decision]) => (pattern.test(diagnosis) ? decision : [])));
    expect(decided(/^(VALID|DNSWARN)/)).toEqual(new Set(['accepted']));
    expect(decided(/^ERR_/)).toEqual(new Set(['invalid', 'trailingDot']));
    expect(isEmailTable.filter(([, , decision]) => decision === 'trailingDot')).toHaveLength(1);
  });

  it.each(isEmailTable)('%j (%s): %s', (address, _diagnosis, decision) => {
    const parsed = emailSchema.safeParse(address);
    expect(parsed.success).toBe(decisions[decision].isAccepted);
    if (parsed.success) expect(canonicalEmail(parsed.data)).toBe(address.trim().replace(/\.$/, ''));
    else
      expect(parsed.error.issues.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^must be an/),
      ]);
  });
});

describe('an e-mail', () => {
  it.each([
    ['a@b', 'a@b'],
    ["o'hara+tag@sub.example.com", "o'hara+tag@sub.example.com"],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
    [' trimmed@example.com\t', 'trimmed@example.com'],
    ['Ann@Example.COM', 'Ann@Example.COM'],
    ['a@example.com.', 'a@example.com'],
    ['zoë@bücher.example', 'zoë@bücher.example'],
    ['zoe\u0308@bücher.example', 'zoë@bücher.example'],
    ['ZOË@BÜCHER.EXAMPLE.', 'zoë@bücher.example'],
    ['ΣΑΣ@example.gr', 'σασ@example.gr'],
    ['σας@example.gr', 'σασ@example.gr'],
    ['Zoe@bücher.example', 'Zoe@bücher.example'],
    ['zoë@xn--bcher-kva.example', 'zoë@bücher.example'],
    ['a@XN--BCHER-KVA.example', 'a@bücher.example'],
    ['a@bu\u0308cher。example。', 'a@bücher.example'],
    ['a@ｅｘａｍｐｌｅ．com', 'a@example.com'],
    ['a@faß.example', 'a@faß.example'],
    ['ΟΔΟΣ@παράδειγμα.δοκιμή', 'οδοσ@παράδειγμα.δοκιμή'],
    ['伊昭傑@郵件.商務', '伊昭傑@郵件.商務'],
    ['สำนัก@ตัวอย่าง.ไทย', 'สำนัก@ตัวอย่าง.ไทย'],
    ['मेल@उदाहरण.भारत', 'मेल@उदाहरण.भारत'],
    ['a@نامه\u200cای.example', 'a@نامه\u200cای.example'],
    ['zoë@iana.123', 'zoë@iana.123'],
    [`${'ë'.repeat(32)}@example.com`, `${'ë'.repeat(32)}@example.com`],
  ])('%j is stored as %j', (given, stored) => {
    expect(emailSchema.parse(given)).toBe(stored);
    expect(emailSchema.parse(stored)).toBe(stored);
  });

  it.each([
    '',
    '@',
    'a@',
    '@b',
    'a b@c',
    'a@b@c',
    'a@.',
    'a@example.com..',
    `${'a'.repeat(65)}@example.com`,
    `${'ë'.repeat(33)}@example.com`,
    `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(63)}`,
    `a@${'ü'.repeat(60)}.example`,
    `${'a@'.repeat(100_000)}b`,
    'a\n@b',
    'a@example.com\n',
    'a@example.com\u2028',
    'a\u0000@example.com',
    'a\ud800ë@example.com',
    'a\u200bë@example.com',
    'a\ufdd0@example.com',
    '\u0301a@example.com',
    'a.\u0301@example.com',
    'a@\u0301.example',
    'a@bücher_.example',
    'a@b%C3%BCcher.example',
    'a@bücher.example/x',
    'a@bücher.example:25',
    'a@[bücher]',
    'a@１.2.３',
    'a@bücher.123',
    'a@xn--zzzz.example',
    'a@xn--.example',
    '\u212aate@example.com',
    'ﬁ@example.com',
    'ａ@example.com',
    'a＠b@example.com',
  ])('may not be %j', (email) => {
    expect(normalEmail(email)).toBeUndefined();
    expect(emailSchema.safeParse(email).error?.issues).toHaveLength(1);
  });

  it.each([
    ['Ann@Example.com.', 'ann@example.COM'],
    ['zoë@bücher.example', 'ZOE\u0308@xn--bcher-kva.example'],
    ['a@bücher.example', 'A@BÜCHER.example.'],
    [' a@b ', 'A@B'],
  ])('%j and %j are the same', (one, other) => {
    expect(canonicalEmail(one)).toBe(canonicalEmail(other));
  });

  it.each([
    ['zoë@example.com', 'zoe@example.com'],
    ['kate@example.com', '\u212aate@example.com'],
    ['info@example.com', 'İnfo@example.com'],
    ['a@faß.example', 'a@fass.example'],
    ['zoë@iana.123', 'zoë@iana.124'],
    ['no address', 'NO ADDRESS'],
  ])('%j and %j are not the same', (one, other) => {
    expect(canonicalEmail(one)).not.toBe(canonicalEmail(other));
  });

  it('has a canonical form in ASCII, if its local part is ASCII', () => {
    expect(canonicalEmail('Ann@Bücher.example')).toBe('ann@xn--bcher-kva.example');
  });

  it('of a lookup needs only an "@"', () => {
    expect(lookupEmailSchema.parse(' "quoted"@example.com ')).toBe('"quoted"@example.com');
    expect(lookupEmailSchema.safeParse('ann').success).toBe(false);
  });
});
