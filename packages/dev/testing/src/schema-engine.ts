import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';

// TypeScript declares WebAssembly only in its DOM library, which would also declare all browser globals.
declare namespace WebAssembly {
  type Exports = Record<string, unknown>;
  function instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Exports } }>;
}

// wasm-bindgen exports this hook without declaring it: it gives the bindings their instance.
interface WasmHook {
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
}

let loaded: Promise<void> | undefined;

function isWasmHook(value: object): value is WasmHook {
  return '__wbg_set_wasm' in value;
}

// The package ships the WebAssembly module for bundlers; Node has to instantiate it itself, once per process.
async function loadEngine(): Promise<void> {
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const bytes = readFileSync(join(dirname(entry), 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': imports() });
  if (!isWasmHook(bindings)) throw new Error('@prisma/schema-engine-wasm has changed its bindings');
  bindings.__wbg_set_wasm(instance.exports);
  const start = instance.exports.__wbindgen_start;
  if (typeof start === 'function') start();
}

// The engine never clears its timeout of 10 s, which would keep the process alive.
function imports(): Record<string, unknown> {
  const setTimer = (callback: () => void, ms: number) => setTimeout(callback, ms).unref();
  return Object.fromEntries(
    Object.entries(bindings).map(([name, binding]) => [
      name,
      name.startsWith('__wbg_setTimeout_') ? setTimer : binding,
    ]),
  );
}

/** Returns the SQL that creates the tables of a `schema.prisma`, by Prisma's schema engine. `url`: any database. */
export async function scriptOf(schema: { path: string; content: string }, url: string): Promise<string> {
  loaded ??= loadEngine();
  await loaded;
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }));
  const engine: SchemaEngine = await bindings.SchemaEngine.new(
    { datamodels: [[schema.path, schema.content]] },
    () => undefined,
    adapter,
  );
  try {
    const { stdout } = await engine.diff({
      from: { tag: 'empty' },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    });
    return stdout ?? '';
  } finally {
    engine.free();
  }
}
