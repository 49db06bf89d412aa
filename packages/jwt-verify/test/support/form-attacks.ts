import { type Attack, type AttackContext, createForge, refusedBy } from './attack.ts';
import { encode, rs256, signParts } from './jws.ts';

const notEncoded = /^not base64url$/;

/** Tokens that are not a compact JWS, or have a different encoding. */
export function formAttacks(context: AttackContext): Attack[] {
  return [
    ...wrongParts(context),
    ...otherEncodings(context),
    ...brokenSignatures(context),
    ...sizes(context),
  ];
}

function wrongParts(context: AttackContext): Attack[] {
  const token = createForge(context).signed({});
  const [header = '', payload = '', signature = ''] = token.split('.');
  return [
    ...refusedBy(/^not three parts$/, {
      'nothing at all': '',
      'a word': 'token',
      'two parts': `${header}.${payload}`,
      'four parts': `${token}.${signature}`,
      'four parts, the last one empty': `${token}.`,
      'five parts, as an encrypted token': `${header}.${payload}.${payload}.${payload}.${signature}`,
      'JSON serialisation': JSON.stringify({ protected: header, payload, signature }),
    }),
    ...refusedBy(notEncoded, {
      'three empty parts': '..',
      'an empty header': `.${payload}.${signature}`,
      'an empty payload': `${header}..${signature}`,
      'an empty signature': `${header}.${payload}.`,
    }),
  ];
}

function otherEncodings(context: AttackContext): Attack[] {
  const { header: members, signed } = createForge(context);
  const token = signed({});
  const [header = '', payload = '', signature = ''] = token.split('.');
  const sign = rs256(context.privateKey);
  // With one byte more than a multiple of three, the last character has unused bits.
  const spaces = ' '.repeat((4 - (Buffer.byteLength(JSON.stringify(context.claims)) % 3)) % 3);
  const odd = encode(JSON.stringify(context.claims) + spaces);
  return [
    ...refusedBy(/^base64url not canonical$/, {
      'spare bits in the signature': withSpareBits(token),
      'spare bits in the payload, correctly signed': signParts(encode(members), withSpareBits(odd), sign),
      'a lone last character in the payload': signParts(encode(members), `${odd}AAA`, sign),
    }),
    ...refusedBy(notEncoded, {
      'padding on the signature': `${token}==`,
      'padding on the header, correctly signed': signParts(`${header}==`, payload, sign),
      'padding on the payload, correctly signed': signParts(header, `${odd}==`, sign),
      'plain base64': `${header}.${payload}.${Buffer.from(signature, 'base64url').toString('base64')}`,
      'a space before': ` ${token}`,
      'a space after': `${token} `,
      'a line break after': `${token}\n`,
      'a tab inside': token.replace('.', '\t.'),
      'a line break in the payload, correctly signed': signParts(header, `${odd}\n`, sign),
      'NUL after': `${token}\u0000`,
      'a zero-width space inside': token.replace('.', '.\u200b'),
      'full-width letters': `${header}.${payload}.${signature.slice(0, -1)}\uff21`,
      'a lone surrogate inside': `${header}.${payload}.${signature}\ud800`,
      'the scheme before': `Bearer ${token}`,
      quotes: `"${token}"`,
    }),
  ];
}

// If one byte remains, the last character has four bits that decoders ignore.
function withSpareBits(base64url: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return base64url.slice(0, -1) + alphabet.charAt(alphabet.indexOf(base64url.slice(-1)) + 1);
}

function brokenSignatures(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const [header = '', payload = '', signature = ''] = signed({}).split('.');
  const [, otherPayload = ''] = signed({ claims: { sub: '00000000-0000-4000-8000-000000000000' } }).split(
    '.',
  );
  const flipped = Buffer.from(signature, 'base64url');
  flipped.writeUInt8(flipped.readUInt8(0) ^ 1, 0);
  const zero = Buffer.alloc(flipped.length);
  return [
    ...refusedBy(/^invalid signature$/, {
      'the signature of other claims': `${header}.${otherPayload}.${signature}`,
      'one bit flipped in the signature': `${header}.${payload}.${flipped.toString('base64url')}`,
      'a signature of zeros': `${header}.${payload}.${zero.toString('base64url')}`,
      'a signature of one byte': `${header}.${payload}.AA`,
      'the signature cut short': `${header}.${payload}.${signature.slice(0, -2)}`,
      'a longer signature': `${header}.${payload}.${signature.slice(0, -2)}AAAA`,
    }),
    ...refusedBy(/./, {
      'cut in the middle of the payload': `${header}.${payload.slice(0, 40)}.${signature}`,
    }),
  ];
}

function sizes(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const room = 8192 - signed({}).length;
  const depth = 2500;
  return [
    ...refusedBy(/^token too long$/, {
      // Base64 has four characters for three bytes, so this is at most three characters over the limit.
      'longer than 8 KiB': signed({ claims: { padding: 'x'.repeat(Math.ceil((room * 3) / 4)) } }),
      'a megabyte of dots': '.'.repeat(1024 * 1024),
    }),
    ...refusedBy(/^invalid signature$/, {
      'deeply nested payload': `${signed({}).split('.', 1)[0]}.${encode(
        `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`,
      )}.AA`,
    }),
  ];
}
