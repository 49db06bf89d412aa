import { readRepositoryFile } from './repository.ts';

export interface CodeBlock {
  /** The nearest heading before the block, of any level. */
  heading: string;
  /** Empty if the fence names none. */
  language: string;
  text: string;
}

/** The fenced code blocks of a Markdown document, in order. */
export function parseCodeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let heading = '';
  let open: CodeBlock | undefined;
  for (const line of markdown.split('\n')) {
    const [, language] = /^ *```(\S*)/.exec(line) ?? [];
    if (open !== undefined) {
      if (language === undefined) open.text += `${line}\n`;
      else open = undefined;
    } else if (language !== undefined) {
      open = { heading, language, text: '' };
      blocks.push(open);
    } else {
      heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
    }
  }
  return blocks;
}

/** The fenced code blocks of a Markdown file in the repository, in order. */
export function readCodeBlocks(file: string): CodeBlock[] {
  return parseCodeBlocks(readRepositoryFile(file));
}

/** Whether a block contains commands to paste into a terminal. */
export function isShell({ language }: CodeBlock): boolean {
  return /^(sh|bash|zsh|shell|console|shell-session)$/.test(language);
}

/**
 * The shell blocks of a Markdown file under a heading. `shell-blocks.test.ts` finds the calls of this function and of
 * `shellBlock` in tests and proofs, therefore their arguments are literals.
 * @throws if there is none
 */
export function shellBlocks(file: string, heading: string): string[] {
  const blocks = readCodeBlocks(file).filter((block) => isShell(block) && block.heading === heading);
  if (blocks.length === 0) throw new Error(`${file} has no shell block under "${heading}".`);
  return blocks.map(({ text }) => text);
}

/** The shell block of a Markdown file with a number, from 0, among those under a heading. @throws if there is none */
export function shellBlock(file: string, heading: string, number: number): string {
  const block = shellBlocks(file, heading)[number];
  if (block === undefined) throw new Error(`${file} has no shell block ${number} under "${heading}".`);
  return block;
}
