// Refuses words that make comments and documents hard to read. Run by `npx pnpm@12 run lint`; prints each place and exits
// with 1. Applied migrations are left alone: Prisma compares their checksums.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

// Excludes data, such as 'nobody' or nobody@example.com.
const refused =
  /(?<![=\w'"])(nobody|somebody|everybody|anybody|whoever|whomever|whatever|whom|(?:comes?|came) to light|(?:holds?|held) out|of its own accord)(?![@\w'"])/gi;
const checked = /\.(ts|mjs|js|grit|md|ya?ml|sh|prisma)$|Dockerfile|\.ci\/run$/;
const left = /pnpm-lock|\/migrations\/|github-issues|\/results\/|plain-words\.mjs$/;

const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' })
  .split('\0')
  .filter((file) => checked.test(file) && !left.test(file) && existsSync(file));
const places = files.flatMap((file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(refused)].map(
        ([word]) => `${file}:${index + 1}: "${word}": ${line.trim().slice(0, 100)}`,
      ),
    ),
);
if (places.length > 0) {
  process.stdout.write(
    `${places.join('\n')}\n\nSay it plainly: name the subject ("the client", "no user", "any caller").\n`,
  );
  process.exitCode = 1;
}
