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
  lifeline: processSchema.optional(),
  /** Set once the embedded database is ready for the services. */
  postgresPort: z.int().optional(),
  services: z.array(z.object({ name: z.string(), url: z.string(), process: processSchema })),
});

/** Who works on a data folder, and what they started. */
export type RunRecord = z.output<typeof runSchema>;

const CLAIM_ATTEMPTS = 10;

/** A claimed data folder: as long as our process lives, no other launcher works on it. */
export class RunClaim {
  readonly #file: string;
  #record: RunRecord;

  private constructor(file: string, record: RunRecord) {
    this.#file = file;
    this.#record = record;
  }

  /**
   * Claims the folder. What a dead launcher left is given to `recover` first.
   * @throws StackError when a living launcher works on the folder
   */
  static async take(
    file: string,
    mode: RunRecord['mode'],
    recover: (dead: RunRecord | undefined) => Promise<void>,
  ): Promise<RunClaim> {
    const launcher = recordProcess(process.pid);
    if (launcher === undefined) throw new Error('This process cannot be found in the process table.');
    const record: RunRecord = { mode, launcher, services: [] };
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt += 1) {
      if (createExclusively(file, JSON.stringify(record))) return new RunClaim(file, record);
      const text = await readSettled(file);
      const found = parseRecord(text);
      if (found !== undefined && isRunning(found.launcher)) throw alreadyRunning(found);
      await recover(found);
      // Another launcher may have recovered and claimed meanwhile: its record must stand.
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

/** @returns undefined when nobody claims the folder, or when the record cannot be read */
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

// A record just being written reads as empty for a moment.
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
