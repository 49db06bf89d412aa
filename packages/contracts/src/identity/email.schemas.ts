import { domainToASCII, domainToUnicode } from 'node:url';
import { z } from 'zod';
import { singleLineText } from '../text.schemas.ts';

export const emailMaxLength = 254;
export const emailLocalPartMaxLength = 64;

// RFC 5322 3.2.3: words with single dots between them; RFC 6531 3.3 adds characters beyond ASCII.
const word = String.raw`(?:[\w!#$%&'*+/=?^\x60{|}~-]|(?![\x00-\x7f\u2800]|\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}\p{P}\p{S}])+`;
const localPart = new RegExp(String.raw`^(?!\p{M})${word}(?:\.(?!\p{M})${word})*$`, 'u');

// HTML's "valid e-mail address", which is a rule for ASCII.
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const asciiDomain = new RegExp(`^${label}(?:\\.${label})*$`, 'i');

/**
 * Returns the one spelling in which an address is stored, undefined for a text that is no address. This spelling has no
 * white space around it and no dot at its end. An internationalised domain has its Unicode form (UTS 46), and a local part
 * beyond ASCII is in NFC and lower case; so two spellings of the same address differ at most in the case of ASCII letters.
 */
export function normalEmail(text: string): string | undefined {
  if (text.length > 1000 || /[\n\v\f\r\u0085\u2028\u2029]/.test(text)) return undefined;
  const address = text.trim();
  const at = address.lastIndexOf('@');
  if (at === -1) return undefined;
  const local = normalLocalPart(address.slice(0, at));
  const domain = normalDomain(address.slice(at + 1));
  if (local === undefined || domain === undefined) return undefined;
  const email = `${local}@${domain}`;
  const isShort =
    byteLength(local) <= emailLocalPartMaxLength && byteLength(withAsciiDomain(email)) <= emailMaxLength;
  return isShort ? email : undefined;
}

/**
 * Returns the form in which addresses are compared, with the domain in ASCII. A text that is no address keeps its form: no
 * character beyond ASCII becomes an ASCII letter, so a look-alike equals no other address.
 */
export function canonicalEmail(text: string): string {
  const email = normalEmail(text);
  return email === undefined ? text.trim() : withAsciiDomain(email).toLowerCase();
}

function normalLocalPart(given: string): string | undefined {
  if (!localPart.test(given)) return undefined;
  if (isAscii(given)) return given;
  // A ligature, a full-width letter or the Kelvin sign would be an address that looks like another one.
  if ([...given].some((character) => !isAscii(character) && hasAscii(character.normalize('NFKC'))))
    return undefined;
  // Whether the lower case of Σ is ς depends on the next letter.
  return given.normalize('NFC').toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}

function normalDomain(given: string): string | undefined {
  const domain = given.replace(/[.\u3002\uff0e\uff61]$/, '');
  if (asciiDomain.test(domain) && !/(^|\.)xn--/i.test(domain)) return domain;
  // The function would decode, cut or remove other ASCII characters, as in the host of a URL.
  if (/[^a-z0-9.\u0080-\uffff-]/i.test(domain)) return undefined;
  const ascii = domainToASCII(domain);
  // It reads a domain that ends in digits as an IPv4 address.
  return asciiDomain.test(ascii) && !/(^|\.)\d+$/.test(ascii) ? domainToUnicode(ascii) : undefined;
}

function withAsciiDomain(email: string): string {
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  return isAscii(domain) ? email : email.slice(0, at) + domainToASCII(domain);
}

function isAscii(text: string): boolean {
  return !/[^\u0000-\u007f]/.test(text);
}

function hasAscii(text: string): boolean {
  return /[\u0000-\u007f]/.test(text);
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** An address of an account, in the spelling of `normalEmail`. */
export const emailSchema = z
  .string()
  .overwrite((value) => normalEmail(value) ?? value)
  .refine((value) => normalEmail(value) !== undefined, {
    error: `must be an e-mail address of at most ${emailMaxLength} bytes, with at most ${emailLocalPartMaxLength} before the "@"`,
  })
  .meta({ format: 'idn-email', maxLength: emailMaxLength, example: 'ann@example.com' });

/** An address for a lookup, in any spelling. A text that is no address matches no identity. */
export const lookupEmailSchema = singleLineText()
  .trim()
  .max(emailMaxLength, { error: `must be at most ${emailMaxLength} characters` })
  .includes('@', { error: 'must be an e-mail address' });
