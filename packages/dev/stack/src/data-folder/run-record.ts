import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { errorCode } from '../error-code.ts';
import { isRunning, recordProcess } from '../processes/recorded-process.ts';
import { StackError } from '../stack-error.ts';
import { parseJson } from './data-folder.ts';
import { replacePrivateFile } from './secret-file.ts';

const processSchema = z.object({ pid: z.int().min(2), startedAt: z.string() });

const runSchema = z.object({
  mode: z.enum(['start', 'dev']),
  launcher: processSchema,
  watchdog: processSchema.optional(),
  /** Set when the embedded database is ready for the services. */
  postgresPort: z.int().optional(),
  services: z.array(z.object({ name: z.string(), url: z.string(), process: processSchema })),
});

/** The launcher that uses a data folder, and the processes that it started. */
export type RunRecord = z.output<typeof runSchema>;

const LOCK_ATTEMPTS = 10;

/** A lock on the data folder: while this process lives, no other launcher uses the folder. */
export class RunLock {
  readonly #file: string;
  #record: RunRecord;

  private constructor(file: string, record: RunRecord) {
    this.#file = file;
    this.#record = record;
  }

  /**
   * Locks the folder. First calls `recover` with the record of a dead launcher, if there is one.
   * @throws StackError when a running launcher holds the lock
   */
  static async acquire(
    file: string,
    mode: RunRecord['mode'],
    recover: (dead: RunRecord | undefined) => Promise<void>,
  ): Promise<RunLock> {
    const launcher = recordProcess(process.pid);
    if (launcher === undefined) throw new Error('This process cannot be found in the process table.');
    const record: RunRecord = { mode, launcher, services: [] };
    for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
      if (createExclusively(file, JSON.stringify(record))) return new RunLock(file, record);
      const text = await readSettled(file);
      const found = parseRecord(text);
      if (found !== undefined && isRunning(found.launcher)) throw alreadyRunning(found);
      await recover(found);
      // Another launcher may have recovered and locked the folder meanwhile; its record must stay.
      if (readText(file) === text) rmSync(file, { force: true });
    }
    throw new StackError(`Another launcher is starting on the same data folder (${file}).`);
  }

  update(change: Partial<RunRecord>): void {
    this.#record = { ...this.#record, ...change };
    replacePrivateFile(this.#file, JSON.stringify(this.#record));
  }

  addService(service: RunRecord['services'][number]): void {
    this.update({ services: [...this.#record.services, service] });
  }

  release(): void {
    rmSync(this.#file, { force: true });
  }
}

/** @returns undefined when the folder is not locked or the record is unreadable */
export function readRunRecord(file: string): RunRecord | undefined {
  return parseRecord(readText(file));
}

function alreadyRunning({ mode, launcher, services }: RunRecord): StackError {
  const command = mode === 'start' ? 'start' : 'dev';
  const urls = services.map(({ name, url }) => `\n  ${name}  ${url}`).join('');
  return new StackError(
    `Tessera is already running on this data folder ("${command}", pid ${launcher.pid}).${urls}\n` +
      `Stop it first: Ctrl-C in its terminal, or kill ${launcher.pid}`,
  );
}

function createExclusively(file: string, content: string): boolean {
  try {
    writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

// A record that is being written reads as empty for a moment.
async function readSettled(file: string): Promise<string | undefined> {
  if (parseRecord(readText(file)) === undefined) await sleep(200);
  return readText(file);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function parseRecord(text: string | undefined): RunRecord | undefined {
  return text === undefined ? undefined : runSchema.safeParse(parseJson(text)).data;
}
