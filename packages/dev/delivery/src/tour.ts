import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCodeBlocks, shellBlocks } from './code-blocks.ts';
import { run } from './command.ts';

interface TourOptions {
  identityUrl: string;
  issuesUrl: string;
  serviceToken: string;
}

/** The shell commands of the tour, after those of the README, in order, and the lines that the tour says they print. */
export function readTour(): { script: string; printed: string[] } {
  const printed = readCodeBlocks('docs/api-tour.md')
    .filter(({ heading, language }) => heading === 'A tour' && language === 'text')
    .flatMap(({ text }) => text.trim().split('\n'));
  const commands = [
    ...shellBlocks('README.md', 'Create an issue'),
    ...shellBlocks('docs/api-tour.md', 'A tour'),
  ];
  return { script: commands.join('\n'), printed };
}

/**
 * Runs the commands of the README and of the tour in a shell, against services at any address. Returns their output; rejects
 * when the output lacks a line that the tour shows, or the README's issue.
 */
export async function takeTour({ identityUrl, issuesUrl, serviceToken }: TourOptions): Promise<string> {
  const { script, printed } = readTour();
  const folder = mkdtempSync(join(tmpdir(), 'tessera-tour-'));
  try {
    mkdirSync(join(folder, '.data'));
    writeFileSync(join(folder, '.data/service-token'), serviceToken, { mode: 0o600 });
    const here = script
      .replaceAll('http://localhost:3001', identityUrl)
      .replaceAll('http://localhost:3002', issuesUrl);
    const output = await run('bash', ['-euo', 'pipefail', '-s'], { cwd: folder, input: here });
    // The number of an issue depends on the existing issues.
    const numberless = output.replaceAll(/ISS-\d+/g, 'ISS-1');
    const missing = printed.filter((line) => !numberless.includes(line));
    if (!/"email":"ada-\d+@example\.com"/.test(output)) missing.push('the identity');
    if (!/\{"key":"ISS-\d+","title":"The refund is missing"\}/.test(output))
      missing.push('the issue of the invoice');
    if (!output.includes('"alg":"RS256"')) missing.push('the key set');
    if (missing.length > 0) throw new Error(`The tour did not print: ${missing.join(', ')}\n${output}`);
    return output;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
