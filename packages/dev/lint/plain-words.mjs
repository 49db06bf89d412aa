// Refuses words that make comments and documents hard to read. Run by `npx pnpm@12 run lint`; prints each place and exits
// with 1. Excludes applied migrations, because Prisma compares their checksums, and the specification, which is verbatim.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const refused = [
  // Excludes data, such as 'nobody' or nobody@example.com.
  /(?<![=\w'"])(?:nobody|somebody|everybody|anybody|whoever|whomever|whatever|whom|(?:comes?|came) to light|(?:holds?|held) out|of its own accord)(?![@\w'"])/gi,
  /\b(?:as asked for|so to say|howsoever|however (?:many|large|long|often)|lines? of history|own words|wire form of|where there (?:is|are) (?:no|none|such)|at most so many|no (?:change|failure) of its|tells? whether|says? what to do|what it is based on|as it is now)\b/gi,
];
const checked = /\.(ts|mjs|js|grit|md|ya?ml|sh|prisma)$|Dockerfile|\.ci\/run$/;
const excluded = /pnpm-lock|\/migrations\/|^docs\/spec\/|github-issues|\/results\/|plain-words\.mjs$/;

const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' })
  .split('\0')
  .filter((file) => checked.test(file) && !excluded.test(file) && existsSync(file));
const places = files.flatMap((file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) =>
      refused.flatMap((pattern) =>
        [...line.matchAll(pattern)].map(
          ([words]) => `${file}:${index + 1}: "${words}": ${line.trim().slice(0, 100)}`,
        ),
      ),
    ),
);
if (places.length > 0) {
  process.stdout.write(
    `${places.join('\n')}\n\nSay it plainly: name the subject ("the client", "no user", "any caller").\n`,
  );
  process.exitCode = 1;
}
