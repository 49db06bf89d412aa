// Removes files that production never loads from a deployed service. Fails if a rule matches no file.
// Usage: node trim.mjs FOLDER
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? '.';
const package_ = (name) => `node_modules/.pnpm/${name.replace('/', '+')}@*/node_modules/${name}`;
const prismaRuntime = `${package_('@prisma/client')}/runtime`;

const rules = [
  // Prisma contains the WebAssembly query compiler for each database, size and module system, and loads one.
  {
    drop: `${prismaRuntime}/query_compiler_*`,
    keep: /query_compiler_fast_bg\.postgresql\.(wasm-base64\.)?mjs$/,
  },
  { drop: `${prismaRuntime}/wasm-compiler-edge.*` },
  { drop: `${package_('swagger-ui-dist')}/*.js`, keep: /\/(swagger-ui-bundle|index|absolute-path)\.js$/ },
  { drop: 'node_modules/.pnpm/@types+*' },
  // A glob does not match directories that start with a dot, unless it names them.
  { drop: 'node_modules/.pnpm/**/*.{map,d.ts,d.mts,d.cts}' },
  // The source maps too: Node runs without --enable-source-maps.
  { drop: 'dist/**/*.{map,d.ts}' },
  // Only a package manager reads these.
  { drop: 'node_modules/.pnpm/lock.yaml' },
  { drop: 'node_modules/.modules.yaml' },
  { drop: 'node_modules/.pnpm-workspace-state-v1.json' },
  { drop: 'pnpm-{lock,workspace}.yaml' },
  { drop: 'README.md' },
];
// bcrypt contains binaries for all platforms.
const optionalRules = [{ drop: `${package_('bcrypt')}/prebuilds/{win32,darwin}-*` }];

for (const { drop, keep, optional = false } of [
  ...rules,
  ...optionalRules.map((rule) => ({ ...rule, optional: true })),
]) {
  const found = globSync(drop, { cwd: folder }).filter((path) => keep === undefined || !keep.test(path));
  if (found.length === 0 && !optional) throw new Error(`Nothing matches ${drop}: the rule is out of date.`);
  for (const path of found) rmSync(join(folder, path), { recursive: true, force: true });
}

const forbidden = ['prisma@*', '@prisma+engines@*', 'typescript@*', 'jest@*', '@tessera+stack*'];
const present = forbidden.flatMap((name) => globSync(`node_modules/.pnpm/${name}`, { cwd: folder }));
if (present.length > 0) throw new Error(`Not allowed in an image: ${present.join(', ')}`);
