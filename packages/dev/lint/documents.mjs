// Checks the Markdown documents: each relative link and each anchor has a target, comments cite sections of documents that
// exist, and the pages for readers stay short and name files that exist. Prints each problem and exits with 1.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

/** The limits of pages in bytes; the first pattern that matches counts. */
const limits = [
  [/^README\.md$/, 6_000],
  [/^(CONTRIBUTING|SECURITY)\.md$/, 8_000],
  [/^docs\/decisions\/\d{4}-/, 1_500],
  // Verbatim, or generated.
  [/^docs\/(spec|reference)\/|^packages\/dev\/bench\/results\//, Number.POSITIVE_INFINITY],
  // They end with the paths of the tests that they name.
  [/^docs\/security\//, 15_000],
  [/^apps\/[^/]+\/README\.md$/, 6_000],
  [/^/, 12_000],
];
const maxParagraphLines = 5;

/** The tracked files and the new ones, without those that git ignores. */
function filesOf(...patterns) {
  const options = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...patterns];
  const files = execFileSync('git', options, { cwd: root, encoding: 'utf8' }).split('\0');
  return files.filter((file) => file !== '' && existsSync(join(root, file)));
}

const read = (file) => readFileSync(join(root, file), 'utf8');

/** The lines of a document, with empty ones in place of code blocks. */
function proseOf(text) {
  let fence;
  return text.split('\n').map((line) => {
    const [, marks] = /^\s*(```+|~~~+)/.exec(line) ?? [];
    if (fence === undefined && marks === undefined) return line;
    if (fence === undefined) fence = marks;
    else if (marks?.startsWith(fence)) fence = undefined;
    return '';
  });
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(lines) {
  const counts = new Map();
  return new Set(
    lines.flatMap((line) => {
      const [, heading] = /^#{1,6} +(.+?)(?: +#+)?$/.exec(line) ?? [];
      if (heading === undefined) return [];
      const shown = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1');
      const base = shown
        .toLowerCase()
        .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
        .replaceAll(' ', '-');
      const count = counts.get(base) ?? 0;
      counts.set(base, count + 1);
      return [count === 0 ? base : `${base}-${count}`];
    }),
  );
}

/** The targets of a line's links and pictures. Code is no link. */
function targetsOf(line) {
  const text = line.replace(/(`+)(?!`).*?(?<!`)\1(?!`)/g, 'code');
  const [, definition] = /^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)/.exec(text) ?? [];
  const inline = [
    ...text.matchAll(/\]\(\s*<?([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)?)>?(?:\s+"[^"]*")?\s*\)/g),
  ];
  return [...inline.map(([, target]) => target), ...(definition === undefined ? [] : [definition])];
}

function paragraphProblems(file, lines) {
  const isText = (line) => line.trim() !== '' && !/^\s*(#|\||<!--|\[[^\]]+\]: )/.test(line);
  const startsAnew = (line) => /^\s*([-*+]|\d+\.)\s/.test(line);
  let length = 0;
  return lines.flatMap((line, index) => {
    length = isText(line) ? (startsAnew(line) ? 1 : length + 1) : 0;
    return length === maxParagraphLines + 1
      ? [`${file}:${index + 1}: a paragraph of more than ${maxParagraphLines} lines`]
      : [];
  });
}

const documents = new Map(filesOf('*.md').map((file) => [file, proseOf(read(file))]));
const anchors = new Map([...documents].map(([file, lines]) => [file, anchorsOf(lines)]));

function linkProblem(file, target) {
  if (/^[a-z][a-z+.-]*:|^\/\//i.test(target)) return undefined;
  const [path, anchor] = target.split('#');
  const found = path === '' ? file : join(dirname(file), decodeURI(path)).replace(/\/$/, '');
  if (path.startsWith('/') || found.startsWith('..') || !existsSync(join(root, found)))
    return 'does not exist';
  if (anchor === undefined || !found.endsWith('.md')) return undefined;
  return anchors.get(found)?.has(decodeURIComponent(anchor)) ? undefined : 'has no such heading';
}

const tracked = filesOf().map((file) => `/${file}`);

/** The files that a line names in code, by their paths or the ends of these, and that do not exist. */
function missingFilesOf(line) {
  const named = [...line.matchAll(/`((?![A-Z])[\w./-]+\.(?:tsx?|mjs|sql|prisma|sh|md))`/g)].map(
    ([, path]) => path,
  );
  return named.filter((path) => !tracked.some((file) => file.endsWith(`/${path}`)));
}

const problems = [];
for (const [file, lines] of documents) {
  for (const [index, line] of lines.entries())
    for (const target of targetsOf(line)) {
      const problem = linkProblem(file, target);
      if (problem !== undefined) problems.push(`${file}:${index + 1}: ${target} ${problem}`);
    }
  const [, limit] = limits.find(([pattern]) => pattern.test(file)) ?? [];
  if (limit === undefined) continue;
  const size = Buffer.byteLength(read(file));
  if (size > limit) problems.push(`${file}: ${size} bytes, more than ${limit}`);
  if (!Number.isFinite(limit)) continue;
  problems.push(...paragraphProblems(file, lines));
  for (const [index, line] of lines.entries())
    for (const path of missingFilesOf(line)) problems.push(`${file}:${index + 1}: ${path} does not exist`);
}

/** The numbers of a document's sections, and of the rules in them: rule 3 of section 4.1 is 4.1.3. */
function sectionsOf(lines) {
  let section = '';
  return new Set(
    lines.flatMap((line) => {
      const [, heading] = /^#+ (\d+(?:\.\d+)*)\.? /.exec(line) ?? [];
      if (heading !== undefined) section = heading;
      const [, rule] = /^(\d+)\. /.exec(line) ?? [];
      return [section, ...(rule === undefined ? [] : [`${section}.${rule}`])];
    }),
  );
}

// Comments and pages cite a document by its path, and a section of the specification by its number.
const citation = /(?<![\w/.-])(docs\/[\w./-]+\.md)(?: (\d+(?:\.\d+)*))?/g;
for (const file of filesOf('*.ts', '*.tsx', '*.mjs', '*.md', '*.yaml', '*.sql', '*.sh'))
  for (const [index, line] of read(file).split('\n').entries())
    for (const [, path, section] of line.matchAll(citation)) {
      const lines = documents.get(path);
      const place = `${file}:${index + 1}: ${path}`;
      if (lines === undefined) problems.push(`${place} does not exist`);
      else if (section !== undefined && path.startsWith('docs/spec/') && !sectionsOf(lines).has(section))
        problems.push(`${place} has no section ${section}`);
    }

process.stdout.write(problems.map((problem) => `${problem}\n`).join(''));
if (problems.length > 0) process.exitCode = 1;
