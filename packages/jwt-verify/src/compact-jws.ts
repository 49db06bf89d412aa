import { z } from 'zod';
import { InvalidTokenError } from './errors.ts';

/** Longest token that is looked at, in characters. */
const maxTokenLength = 8192;

const base64url = /^[A-Za-z0-9_-]+$/;

// Header members that change what a signature means or where its key comes from (RFC 7515 4.1, RFC 7797).
const forbiddenMembers = ['crit', 'b64', 'jku', 'jwk', 'x5u', 'x5c', 'x5t', 'x5t#S256', 'zip'];

const headerSchema = z.looseObject({
  alg: z.literal('RS256'),
  kid: z.string().min(1).max(200),
  typ: z.string().max(50).optional(),
});

/** The header of a JWS that passed the gate. */
export interface JwsHeader {
  kid: string;
  typ: string | undefined;
}

/**
 * Splits a compact JWS and checks its form before any key is touched: exactly three canonical base64url parts,
 * bounded, RS256, a kid, none of the members that could redirect the verification. Answers the header; the payload
 * is only known to be a JSON object without repeated members.
 */
export function parseCompactJws(token: string): JwsHeader {
  if (token.length > maxTokenLength) throw new InvalidTokenError('token too long');
  const parts = token.split('.');
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) {
    throw new InvalidTokenError('not three parts');
  }
  decode(signature);
  parseObject(decode(payload), 'payload');
  const members = parseObject(decode(header), 'header');
  if (forbiddenMembers.some((name) => Object.hasOwn(members, name))) {
    throw new InvalidTokenError('forbidden header member');
  }
  const parsed = headerSchema.safeParse(members);
  if (!parsed.success) throw new InvalidTokenError('header not acceptable');
  return { kid: parsed.data.kid, typ: parsed.data.typ };
}

// A second spelling of the same bytes would be a second token with the same signature.
function decode(part: string): Buffer {
  if (!base64url.test(part)) throw new InvalidTokenError('not base64url');
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) throw new InvalidTokenError('base64url not canonical');
  return bytes;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parseObject(bytes: Buffer, part: string): Record<string, unknown> {
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new InvalidTokenError(`${part} is not JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidTokenError(`${part} is not an object`);
  }
  if (hasRepeatedMember(text, value)) throw new InvalidTokenError(`${part} repeats a member`);
  return value as Record<string, unknown>;
}

// RFC 7519 4: readers differ in which of two equal names they take. What JSON.parse dropped shows in the number of
// keys: every string that is followed by a colon is one.
function hasRepeatedMember(text: string, value: object): boolean {
  const strings = text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g);
  return Array.from(strings).filter(([, colon]) => colon !== undefined).length !== countKeys(value);
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((total, member) => total + countKeys(member), own);
}
