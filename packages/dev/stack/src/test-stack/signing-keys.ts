import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of signing keys, like a mounted secret. */
export class SigningKeys {
  readonly directory: string = mkdtempSync(join(tmpdir(), 'tessera-keys-'));

  /** Adds the key `identity-key-<number>`. */
  add(number: number): void {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(join(this.directory, `identity-key-${number}.pem`), pem, { mode: 0o600 });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true });
  }
}
