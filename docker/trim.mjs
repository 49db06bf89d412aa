// Takes out of a deployed service what production never loads; refuses where a rule finds nothing any more.
// Usage: node trim.mjs FOLDER
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? '.';
const package_ = (name) => `node_modules/.pnpm/${name.replace('/', '+')}@*/node_modules/${name}`;
const prismaRuntime = `${package_('@prisma/client')}/runtime`;

const rules = [
  // The query compiler is WebAssembly, once for each database, size and module system; one of them is loaded.
  {
    drop: `${prismaRuntime}/query_compiler_*`,
    keep: /query_compiler_fast_bg\.postgresql\.(wasm-base64\.)?mjs$/,
  },
  { drop: `${prismaRuntime}/wasm-compiler-edge.*` },
  { drop: `${package_('swagger-ui-dist')}/*.js`, keep: /\/(swagger-ui-bundle|index|absolute-path)\.js$/ },
  { drop: 'node_modules/.pnpm/@types+*' },
  // A pattern passes over dotted folders unless it names them.
  { drop: 'node_modules/.pnpm/**/*.{map,d.ts,d.mts,d.cts}' },
  { drop: 'dist/**/*.d.ts' },
  { drop: 'node_modules/.pnpm/lock.yaml' },
];
// Where there is bcrypt: it brings one binary for every platform.
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
if (present.length > 0) throw new Error(`This belongs to no service: ${present.join(', ')}`);
