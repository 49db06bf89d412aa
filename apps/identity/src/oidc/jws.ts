import { isUtf8 } from 'node:buffer';
import { constants, type KeyObject, type VerifyKeyObjectInput, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { type ClientAlgorithm, clientAlgorithms } from '../clients/client-keys.ts';

const verifyOnThreadPool: (
  algorithm: string,
  data: Buffer,
  key: VerifyKeyObjectInput,
  signature: Buffer,
) => Promise<boolean> = promisify(verify);

/** A compact JWS whose signature is not verified yet. */
export interface Jws {
  algorithm: ClientAlgorithm;
  kid: string | undefined;
  typ: unknown;
  claims: Readonly<Record<string, unknown>>;
  signed: Buffer;
  signature: Buffer;
}

const tokenLengthMax = 8_192;

/** Splits a compact JWS; undefined for another form, an unknown algorithm and a header that changes what is signed. */
export function parseJws(token: string): Jws | undefined {
  if (token.length > tokenLengthMax) return undefined;
  const [header = '', payload = '', signature = '', ...more] = token.split('.');
  const head = more.length === 0 ? readObject(header) : undefined;
  const claims = readObject(payload);
  const bytes = decode(signature);
  if (head === undefined || claims === undefined || bytes === undefined) return undefined;
  const algorithm = clientAlgorithms.find((name) => name === head.alg);
  if (algorithm === undefined || 'crit' in head || 'b64' in head) return undefined;
  const kid = typeof head.kid === 'string' ? head.kid : undefined;
  return {
    algorithm,
    kid,
    typ: head.typ,
    claims,
    signed: Buffer.from(`${header}.${payload}`),
    signature: bytes,
  };
}

/** Whether a key has made the signature. */
export function isSignedBy({ algorithm, signed, signature }: Jws, key: KeyObject): Promise<boolean> {
  const options: Record<ClientAlgorithm, Omit<VerifyKeyObjectInput, 'key'>> = {
    RS256: { padding: constants.RSA_PKCS1_PADDING },
    PS256: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    ES256: { dsaEncoding: 'ieee-p1363' },
  };
  return verifyOnThreadPool('sha256', signed, { key, ...options[algorithm] }, signature);
}

// A different encoding of the same bytes would be a second token with the same signature.
function decode(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url');
  return part !== '' && bytes.toString('base64url') === part ? bytes : undefined;
}

function readObject(part: string): Record<string, unknown> | undefined {
  const bytes = decode(part);
  if (bytes === undefined || !isUtf8(bytes)) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
