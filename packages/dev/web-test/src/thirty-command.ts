import { parseArgs } from 'node:util';
import { percentile, workByKeys } from './thirty.ts';
import { startWeb } from './web.ts';

const help = `npx pnpm@12 thirty [--issues N]

Works through thirty issues in the web app by keys alone, in a real Chromium with both services, and prints
the keys for each issue and the time from a key to the frame that shows its effect.`;

const { values } = parseArgs({
  options: { issues: { type: 'string', default: '30' }, help: { type: 'boolean', default: false } },
});
const count = Number(values.issues);
if (values.help) process.stdout.write(`${help}\n`);
else if (!Number.isInteger(count) || count < 1 || count > 200) {
  process.stderr.write('thirty: --issues must be a number from 1 to 200. See "npx pnpm@12 thirty --help".\n');
  process.exitCode = 2;
} else {
  const web = await startWeb();
  try {
    const people = {
      ada: await web.createPerson('ada', 'Ada Lovelace', true),
      bob: await web.createPerson('bob', 'Bob Kaplan'),
    };
    const run = await workByKeys(web, people, count, (done) =>
      process.stderr.write(`\r${done} of ${count} issues${done === count ? '\n' : ''}`),
    );
    process.stdout.write(
      `Keys an issue: ${run.keysAnIssue.toFixed(1)}. From a key to its frame: p50 ${percentile(run, 0.5)} ms, ` +
        `p95 ${percentile(run, 0.95)} ms, p99 ${percentile(run, 0.99)} ms.\n`,
    );
  } finally {
    await web.stop();
  }
}
