import { writeFileSync } from 'node:fs';
import { identityApi, issuesApi } from '../src/index.ts';
import { describeApi } from './document.ts';

// Writes the two OpenAPI documents beside this file; a test compares them with the operations.
for (const [name, api] of [
  ['identity', identityApi],
  ['issues', issuesApi],
] as const) {
  const file = new URL(`./${name}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(describeApi(api), null, 2)}\n`);
}
