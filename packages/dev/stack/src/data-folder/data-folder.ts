import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { errorCode } from '../error-code.ts';
import type { ServiceName } from '../services/services.ts';
import { StackError } from '../stack-error.ts';
import { createPrivateFile, readPrivateFile } from './secret-file.ts';

/** The paths of the data folder, which contains all data of Tessera on this machine. */
export interface DataFolder {
  readonly root: string;
  readonly postgres: string;
  readonly serviceTokenFile: string;
  /** The key that seals the tokens of the web app's sessions. */
  readonly sessionKeyFile: string;
  readonly keysDir: string;
  readonly runFile: string;
  readonly logs: string;
  databasePasswordFile(service: ServiceName): string;
  /** The password of the role that owns and migrates the service's database. */
  databaseOwnerPasswordFile(service: ServiceName): string;
  logFile(name: string): string;
}

const FORMAT = 1;
const MARKER = 'tessera-data.json';
const markerSchema = z.object({ format: z.literal(FORMAT) });

/**
 * Opens the data folder and creates it if it is missing or empty.
 * @throws StackError when the folder holds anything else; nothing is changed
 */
export function openDataFolder(folder: string): DataFolder {
  const root = path.resolve(folder);
  const marker = path.join(root, MARKER);
  // Temporary copies of the marker may exist for a moment when two commands open the folder at once.
  const found = listFolder(root).filter((name) => name === MARKER || !name.startsWith(`${MARKER}.`));
  if (found.length > 0) assertOurs(root, marker, found);

  // For root, the server runs as another user, which must be able to reach its own folder. Every secret has mode 0600.
  const made = mkdirSync(root, { recursive: true });
  if (made !== undefined) chmodSync(root, process.getuid?.() === 0 ? 0o711 : 0o700);
  createPrivateFile(marker, `${JSON.stringify({ format: FORMAT })}\n`);
  const within = (name: string) => path.join(root, name);
  mkdirSync(within('logs'), { recursive: true, mode: 0o700 });
  return {
    root,
    postgres: within('postgres'),
    serviceTokenFile: within('service-token'),
    sessionKeyFile: within('session-key'),
    keysDir: within('keys'),
    runFile: within('run.json'),
    logs: within('logs'),
    databasePasswordFile: (service) => within(`${service}-database.password`),
    databaseOwnerPasswordFile: (service) => within(`${service}-database-owner.password`),
    logFile: (name) => path.join(root, 'logs', `${name}.log`),
  };
}

function listFolder(root: string): string[] {
  try {
    return readdirSync(root);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'ENOENT') return [];
    const why =
      code === 'ENOTDIR' ? 'it is not a folder' : code === 'EACCES' ? 'permission denied' : String(cause);
    throw new StackError(
      `Cannot use ${root} as data folder: ${why}. Set TESSERA_DATA_DIR to another folder.`,
      {
        cause,
      },
    );
  }
}

function assertOurs(root: string, marker: string, found: readonly string[]): void {
  if (!found.includes(MARKER)) {
    throw new StackError(
      `${root} is not empty and was not made by Tessera (no ${MARKER} in it), so it is left alone.\n` +
        'Set TESSERA_DATA_DIR to another folder.',
    );
  }
  const text = readPrivateFile(marker);
  if (!markerSchema.safeParse(parseJson(text)).success) {
    throw new StackError(
      `${marker} is damaged or was written by another release. Set TESSERA_DATA_DIR to another folder.`,
    );
  }
}

/** @returns undefined for invalid JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
