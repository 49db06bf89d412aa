import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './command.ts';
import { readRepositoryFile } from './repository.ts';

interface TourOptions {
  identityUrl: string;
  issuesUrl: string;
  serviceToken: string;
}

/** The shell commands of README's tour, in order, and the lines that they are said to print. */
export function readTour(readme = readRepositoryFile('README.md')): { script: string; printed: string[] } {
  const tour = /^## A tour$(.*?)^## /ms.exec(readme)?.[1];
  if (tour === undefined) throw new Error('README.md has no tour.');
  const blocks = [...tour.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text = '']) => ({
    language,
    text,
  }));
  const script = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
  const printed = blocks
    .filter(({ language }) => language === 'text')
    .flatMap(({ text }) => text.trim().split('\n'));
  return { script: script.join('\n'), printed };
}

/**
 * Pastes README's tour into a shell, against services that run anywhere, as a person who has not been there before.
 * Rejects where a line that README promises is not printed. Answers what was printed.
 */
export async function takeTour({ identityUrl, issuesUrl, serviceToken }: TourOptions): Promise<string> {
  const { script, printed } = readTour();
  const name = `ada-${randomBytes(4).toString('hex')}`;
  const folder = mkdtempSync(join(tmpdir(), 'tessera-tour-'));
  try {
    mkdirSync(join(folder, '.data'));
    writeFileSync(join(folder, '.data/service-token'), serviceToken, { mode: 0o600 });
    const here = script
      .replaceAll('http://localhost:3001', identityUrl)
      .replaceAll('http://localhost:3002', issuesUrl)
      .replaceAll('ada@', `${name}@`);
    const output = await run('bash', ['-euo', 'pipefail', '-s'], { cwd: folder, input: here });
    // Which number an issue gets depends on who was here before.
    const numberless = output.replaceAll(/ISS-\d+/g, 'ISS-1');
    const missing = printed.filter((line) => !numberless.includes(line));
    if (!output.includes(`"email":"${name}@example.com"`)) missing.push('the identity');
    if (!output.includes('"alg":"RS256"')) missing.push('the key set');
    if (missing.length > 0) throw new Error(`The tour did not print: ${missing.join(', ')}\n${output}`);
    return output;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
