import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

const signOnThreadPool: (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer> =
  promisify(sign);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
// The input has the length of the signed part of an access token.
const input = Buffer.alloc(600, 'x');

/** Makes an RS256 signature on the thread pool, with a key of this process. */
export function signLikeToken(): Promise<Buffer> {
  return signOnThreadPool('RSA-SHA256', input, privateKey);
}
