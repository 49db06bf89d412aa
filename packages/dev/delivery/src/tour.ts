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

interface CodeBlock {
  language: string;
  text: string;
}

/** The fenced code blocks of a Markdown file under one heading of the second level, in order. */
export function readCodeBlocks(file: string, heading: string): CodeBlock[] {
  return codeBlocksUnder(readRepositoryFile(file), heading, file);
}

/** The shell block of a Markdown file under a heading of the second level that contains a text. @throws unless there is exactly one */
export function readShellBlock(file: string, heading: string, part: string): string {
  const found = readCodeBlocks(file, heading).filter(
    ({ language, text }) => language === 'sh' && text.includes(part),
  );
  if (found.length !== 1 || found[0] === undefined)
    throw new Error(`${file}, "${heading}": ${found.length} shell blocks have "${part}".`);
  return found[0].text;
}

function codeBlocksUnder(markdown: string, heading: string, file: string): CodeBlock[] {
  const start = markdown.indexOf(`\n## ${heading}\n`);
  if (start === -1) throw new Error(`${file} has no section "${heading}".`);
  const end = markdown.indexOf('\n## ', start + 1);
  const section = markdown.slice(start, end === -1 ? undefined : end);
  return [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
}

/** The shell commands of the README's tour, in order, and the lines that the README says they print. */
export function readTour(readme = readRepositoryFile('README.md')): { script: string; printed: string[] } {
  const blocks = codeBlocksUnder(readme, 'A tour', 'README.md');
  const script = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
  const printed = blocks
    .filter(({ language }) => language === 'text')
    .flatMap(({ text }) => text.trim().split('\n'));
  return { script: script.join('\n'), printed };
}

/**
 * Runs the README's tour in a shell, against services at any address. Returns its output; rejects when the output lacks a
 * line that the README shows.
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
    if (!output.includes('"alg":"RS256"')) missing.push('the key set');
    if (missing.length > 0) throw new Error(`The tour did not print: ${missing.join(', ')}\n${output}`);
    return output;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
