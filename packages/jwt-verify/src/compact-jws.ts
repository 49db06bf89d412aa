import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { InvalidTokenError } from './errors.ts';

const base64url = /^[A-Za-z0-9_-]+$/;

// Members that name a different key or change the meaning of the signature (RFC 7515 4.1, RFC 7516 4.1, RFC 7797 3).
const forbiddenMembers = ['crit', 'b64', 'jku', 'jwk', 'x5u', 'x5c', 'x5t', 'x5t#S256', 'zip', 'enc', 'cty'];

const headerSchema = z.object({
  alg: z.literal('RS256'),
  kid: z.string().min(1).max(200),
  typ: z.string().optional(),
});

/** A well-formed token; its signature is not verified yet. */
export interface CompactJws {
  kid: string;
  typ: string | undefined;
  payload: Record<string, unknown>;
}

/**
 * Splits a compact JWS and checks its form before any key is used: exactly three canonical base64url parts, RS256, a
 * kid, no forbidden header members, header and payload as JSON objects without repeated members. Throws
 * `InvalidTokenError`.
 */
export function parseCompactJws(token: string): CompactJws {
  const parts = token.split('.');
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) {
    throw new InvalidTokenError('not three parts');
  }
  const members = parseObject(decode(header), 'header');
  if (forbiddenMembers.some((name) => Object.hasOwn(members, name))) {
    throw new InvalidTokenError('forbidden header member');
  }
  const parsed = headerSchema.safeParse(members);
  if (!parsed.success) throw new InvalidTokenError('invalid header');
  decode(signature);
  return { kid: parsed.data.kid, typ: parsed.data.typ, payload: parseObject(decode(payload), 'payload') };
}

// A different encoding of the same bytes would be a second token with the same signature.
function decode(part: string): Buffer {
  if (!base64url.test(part)) throw new InvalidTokenError('not base64url');
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) throw new InvalidTokenError('base64url not canonical');
  return bytes;
}

function parseObject(bytes: Buffer, part: string): Record<string, unknown> {
  if (!isUtf8(bytes)) throw new InvalidTokenError(`${part} is not UTF-8`);
  const text = bytes.toString('utf8');
  const value = parseJson(text, part);
  if (!isObject(value)) throw new InvalidTokenError(`${part} is not an object`);
  if (repeatsMember(text, value)) throw new InvalidTokenError(`${part} repeats a member`);
  return value;
}

function parseJson(text: string, part: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidTokenError(`${part} is not JSON`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// RFC 7519 4: parsers differ in which of two equal names they use. A serialised object has each name once.
function repeatsMember(text: string, value: object): boolean {
  const rewritten = JSON.stringify(value);
  return rewritten !== text && countNames(text) !== countNames(rewritten);
}

// In JSON, a string is a name if and only if a colon follows it.
function countNames(json: string): number {
  return Array.from(json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)).filter(([, colon]) => colon !== undefined)
    .length;
}
