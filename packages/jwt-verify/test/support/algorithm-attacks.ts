import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { type Attack, type AttackContext, createForge, refusedBy } from './attack.ts';
import { createJws, es256, hs256, ps256, rs256, rs384, rs512 } from './jws.ts';

const wrongHeader = /^invalid header$/;

/** Other algorithms than RS256 (RFC 8725 2.1, 3.1). */
export function algorithmAttacks(context: AttackContext): Attack[] {
  return [...unsigned(context), ...confusedSecrets(context), ...otherSignatures(context)];
}

function unsigned(context: AttackContext): Attack[] {
  const { header } = createForge(context);
  return ['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg) =>
    refusedBy(wrongHeader, {
      [`alg "${alg}", no signature`]: createJws({ ...header, alg }, context.claims, () => Buffer.alloc(0)),
      [`alg "${alg}", RS256 signature`]: createJws(
        { ...header, alg },
        context.claims,
        rs256(context.privateKey),
      ),
    }),
  );
}

// The public key as an HMAC secret, in each form that a verifier might store it.
function confusedSecrets(context: AttackContext): Attack[] {
  const { header } = createForge(context);
  const key = createPublicKey(context.privateKey);
  const pem = key.export({ type: 'spki', format: 'pem' }).toString();
  const secrets: Record<string, string | Buffer> = {
    PEM: pem,
    'trimmed PEM': pem.trim(),
    'PKCS#1 PEM': key.export({ type: 'pkcs1', format: 'pem' }),
    DER: key.export({ type: 'spki', format: 'der' }),
    JWK: JSON.stringify(key.export({ format: 'jwk' })),
    modulus: Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url'),
    nothing: '',
  };
  return Object.entries(secrets).flatMap(([form, secret]) => [
    ...refusedBy(wrongHeader, {
      [`HS256, secret: ${form}`]: createJws({ ...header, alg: 'HS256' }, context.claims, hs256(secret)),
    }),
    ...refusedBy(/^invalid signature$/, {
      [`HS256 labelled RS256, secret: ${form}`]: createJws(header, context.claims, hs256(secret)),
    }),
  ]);
}

function otherSignatures(context: AttackContext): Attack[] {
  const { privateKey, claims } = context;
  const { header } = createForge(context);
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signers = {
    RS384: rs384(privateKey),
    RS512: rs512(privateKey),
    PS256: ps256(privateKey),
    ES256: es256(ec.privateKey),
  };
  const genuine = Object.entries(signers).flatMap(([alg, sign]) => [
    ...refusedBy(wrongHeader, { [`${alg}, correctly signed`]: createJws({ ...header, alg }, claims, sign) }),
    ...refusedBy(/^invalid signature$/, { [`${alg} labelled RS256`]: createJws(header, claims, sign) }),
  ]);
  const sign = rs256(privateKey);
  return [
    ...genuine,
    ...refusedBy(wrongHeader, {
      'alg in lower case': createJws({ ...header, alg: 'rs256' }, claims, sign),
      'alg as an array': createJws({ ...header, alg: ['RS256'] }, claims, sign),
      'alg null': createJws({ ...header, alg: null }, claims, sign),
      'no alg': createJws({ ...header, alg: undefined }, claims, sign),
    }),
  ];
}
