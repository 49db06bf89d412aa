import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, DriverAdapterError } from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

export type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';

// Node has WebAssembly; the type library that declares it is the browser's, which would bring a browser's globals.
declare namespace WebAssembly {
  type Exports = Record<string, unknown>;
  function instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Exports } }>;
}

// What wasm-bindgen exports beside its declared types: the hook that hands the bindings their instance.
interface WasmHook {
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
}

let loaded: Promise<void> | undefined;

function isWasmHook(value: object): value is WasmHook {
  return '__wbg_set_wasm' in value;
}

// The package offers the WebAssembly module for bundlers; Node instantiates it by hand, once a process.
async function loadEngine(): Promise<void> {
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const bytes = readFileSync(join(dirname(entry), 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': imports() });
  if (!isWasmHook(bindings)) throw new Error('@prisma/schema-engine-wasm has changed its bindings');
  bindings.__wbg_set_wasm(instance.exports);
  const start = instance.exports.__wbindgen_start;
  if (typeof start === 'function') start();
}

// The engine never clears the timer that bounds its work (10 s), and a migrator would stay that long after its end.
function imports(): Record<string, unknown> {
  const setTimer = (callback: () => void, ms: number) => setTimeout(callback, ms).unref();
  return Object.fromEntries(
    Object.entries(bindings).map(([name, binding]) => [
      name,
      name.startsWith('__wbg_setTimeout_') ? setTimer : binding,
    ]),
  );
}

/**
 * Prisma's adapter cuts a script at every semicolon, also inside a function's body, and runs the pieces one by one.
 * Sent whole, PostgreSQL parses it itself and runs it as one transaction: a migration that fails leaves nothing.
 */
class WholeScriptPrismaPg extends PrismaPg {
  override async connect() {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => {
      try {
        await adapter.underlyingDriver().query(script);
      } catch (error) {
        throw toDriverAdapterError(error);
      }
    };
    return adapter;
  }
}

function toDriverAdapterError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  return new DriverAdapterError({
    kind: 'postgres',
    code: error.code ?? '',
    severity: error.severity ?? 'ERROR',
    message: error.message,
    detail: error.detail,
    column: error.column,
    hint: error.hint,
  });
}

/** Runs Prisma's schema engine (WebAssembly) against a database, with a service's `schema.prisma` as its data model. */
export async function withSchemaEngine<Result>(
  connectionString: string,
  schema: { path: string; content: string },
  use: (engine: SchemaEngine) => Promise<Result>,
): Promise<Result> {
  loaded ??= loadEngine();
  await loaded;
  // A pool of our own: the engine leaves its connection open, and with it the advisory lock that it took.
  const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 5000, application_name: 'migrate' });
  const adapter = bindMigrationAwareSqlAdapterFactory(new WholeScriptPrismaPg(pool));
  const engine = await bindings.SchemaEngine.new(
    { datamodels: [[schema.path, schema.content]] },
    () => undefined,
    adapter,
  );
  try {
    return await use(engine);
  } finally {
    engine.free();
    await pool.end();
  }
}
