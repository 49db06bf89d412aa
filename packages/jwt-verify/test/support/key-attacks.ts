import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type Attack, type AttackContext, createForge, refusedBy } from './attack.ts';
import { createJws, rs256 } from './jws.ts';

const forbidden = /^forbidden header member$/;

/** Untrusted keys, and headers that name another key or change the meaning of the signature. */
export function keyAttacks(context: AttackContext): Attack[] {
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return [
    ...foreignKeys(context, foreign.privateKey),
    ...pointers(context, foreign.privateKey, 'a foreign key'),
    // The member is refused even with a trusted signature.
    ...pointers(context, context.privateKey, 'our key'),
    ...kids(context),
    ...types(context),
    ...nested(context),
  ];
}

function foreignKeys(context: AttackContext, foreign: KeyObject): Attack[] {
  const { header } = createForge(context);
  return [
    ...refusedBy(/^invalid signature$/, {
      'a foreign key under our kid': createJws(header, context.claims, rs256(foreign)),
    }),
    ...refusedBy(/^unknown kid$/, {
      'a foreign key under its own kid': createJws(
        { ...header, kid: 'foreign-key-1' },
        context.claims,
        rs256(foreign),
      ),
    }),
  ];
}

function pointers(context: AttackContext, key: KeyObject, signer: string): Attack[] {
  const { header } = createForge(context);
  const jwk = createPublicKey(key).export({ format: 'jwk' });
  const { listenerUrl } = context;
  const members: Record<string, Record<string, unknown>> = {
    jwk: { jwk: { ...jwk, kid: context.kid, alg: 'RS256', use: 'sig' } },
    jku: { jku: `${listenerUrl}/jwks` },
    'jku and a kid of its own': { jku: `${listenerUrl}/jwks`, kid: 'foreign-key-1' },
    x5u: { x5u: `${listenerUrl}/chain.pem` },
    x5c: { x5c: [createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')] },
    x5t: { x5t: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA' },
    'x5t#S256': { 'x5t#S256': 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
    'unknown crit': { crit: ['exp'], exp: 0 },
    'empty crit': { crit: [] },
    'crit b64': { crit: ['b64'], b64: false },
    'b64 false': { b64: false },
    'b64 true': { b64: true },
    zip: { zip: 'DEF' },
    enc: { enc: 'A256GCM' },
    cty: { cty: 'JWT' },
    'jwk null': { jwk: null },
  };
  return Object.entries(members).flatMap(([name, member]) =>
    refusedBy(forbidden, {
      [`header ${name}, signed with ${signer}`]: createJws(
        { ...header, ...member },
        context.claims,
        rs256(key),
      ),
    }),
  );
}

function kids(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const unknown = [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '../../../../dev/null',
    '/proc/self/environ',
    "' OR '1'='1",
    `x' UNION SELECT '${context.kid}`,
    '| cat /etc/passwd',
    `${context.kid} `,
    `${context.kid}\u0000`,
    context.kid.toUpperCase(),
    `${context.listenerUrl}/jwks`,
  ];
  const malformed: Record<string, unknown> = {
    number: 1,
    null: null,
    missing: undefined,
    empty: '',
    'very long': 'k'.repeat(4096),
    array: [context.kid],
    object: { kid: context.kid },
    true: true,
  };
  return [
    ...unknown.flatMap((kid) =>
      refusedBy(/^unknown kid$/, { [`kid ${JSON.stringify(kid)}`]: signed({ header: { kid } }) }),
    ),
    ...Object.entries(malformed).flatMap(([name, kid]) =>
      refusedBy(/^invalid header$/, { [`kid ${name}`]: signed({ header: { kid } }) }),
    ),
    ...refusedBy(/^token too long$/, { 'kid of 10 kB': signed({ header: { kid: 'k'.repeat(10_000) } }) }),
  ];
}

// RFC 8725 3.11
function types(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const others = ['secevent+jwt', 'dpop+jwt', 'logout+jwt', 'application/json', 'JOSE', ''];
  const otherKinds =
    context.kind === 'access'
      ? ['rt+jwt', 'RT+JWT', 'application/rt+jwt']
      : ['at+jwt', 'JWT', 'RT+JWT', 'application/rt+jwt'];
  return [
    ...[...others, ...otherKinds].flatMap((typ) =>
      refusedBy(/^wrong token type$/, { [`typ "${typ}"`]: signed({ header: { typ } }) }),
    ),
    ...refusedBy(/^invalid header$/, {
      'typ as an array': signed({ header: { typ: [context.typ] } }),
    }),
  ];
}

// RFC 7519 5.2: a token within a token, both correctly signed.
function nested(context: AttackContext): Attack[] {
  const { header, signed, signedRaw } = createForge(context);
  const inner = signed({});
  return [
    ...refusedBy(forbidden, {
      'nested JWS with cty': signedRaw({ header: { ...header, cty: 'JWT' }, payload: inner }),
    }),
    ...refusedBy(/^payload is not /, {
      'nested JWS without cty': signedRaw({ payload: inner }),
      'nested JWS as JSON text': signedRaw({ payload: JSON.stringify(inner) }),
    }),
  ];
}
