import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root. */
export const rootDir = fileURLToPath(new URL('../../../..', import.meta.url));

/** The text of a file in the repository. */
export function readRepositoryFile(path: string): string {
  return readFileSync(join(rootDir, path), 'utf8');
}
