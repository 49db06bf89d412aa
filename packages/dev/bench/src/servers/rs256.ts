import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

const signOnThreadPool: (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer> =
  promisify(sign);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
// As long as what is signed of an access token.
const input = Buffer.alloc(600, 'x');

/** An RS256 signature on the thread pool, by a key of this process. */
export function signLikeToken(): Promise<Buffer> {
  return signOnThreadPool('RSA-SHA256', input, privateKey);
}
