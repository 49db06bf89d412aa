import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, DriverAdapterError } from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

export type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';

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

// The engine never clears its timeout of 10 s, which would keep the migrator's process alive.
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
 * Prisma's adapter splits a script at every semicolon, even inside a function body, and runs the parts one by one.
 * Sent as one string, PostgreSQL runs the script in one transaction: a failed migration changes nothing.
 */
class WholeScriptPrismaPg extends PrismaPg {
  readonly #prepareScript: (script: string) => string;

  constructor(pool: pg.Pool, prepareScript: (script: string) => string) {
    super(pool);
    this.#prepareScript = prepareScript;
  }

  override async connect() {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => {
      try {
        await adapter.underlyingDriver().query(this.#prepareScript(script));
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

/**
 * Runs Prisma's schema engine (WebAssembly) against a database, with a service's `schema.prisma` as its data model.
 * @param prepareScript returns the SQL to run for a script of the engine; by default the script
 */
export async function withSchemaEngine<Result>(
  connectionString: string,
  schema: { path: string; content: string },
  use: (engine: SchemaEngine) => Promise<Result>,
  prepareScript = (script: string) => script,
): Promise<Result> {
  loaded ??= loadEngine();
  await loaded;
  // A separate pool, because the engine leaves its connection open, with the advisory lock it holds.
  // The role may have the timeouts of its service, which do not apply to migrations.
  const pool = new pg.Pool({
    connectionString,
    connectionTimeoutMillis: 5000,
    application_name: 'migrate',
    options: '-c statement_timeout=0 -c idle_in_transaction_session_timeout=0',
  });
  // The statement that needs the connection fails, too.
  pool.on('error', () => undefined);
  const adapter = bindMigrationAwareSqlAdapterFactory(new WholeScriptPrismaPg(pool, prepareScript));
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
