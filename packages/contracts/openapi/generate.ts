import { writeFileSync } from 'node:fs';
import { identityApi, issuesApi } from '../src/index.ts';
import { describeApi } from './document.ts';
import { pathTables } from './paths.ts';

// Writes the two OpenAPI documents beside this file, and the tables of paths; tests compare them with the operations.
for (const [name, api] of [
  ['identity', identityApi],
  ['issues', issuesApi],
] as const) {
  const file = new URL(`./${name}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(describeApi(api), null, 2)}\n`);
}
writeFileSync(new URL('../src/operation-paths.ts', import.meta.url), pathTables());
