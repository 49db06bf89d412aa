import { errorCode } from './error-code.ts';
import { StackError } from './stack-error.ts';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EMFILE: 'too many open files',
};

/** The text to print for an error; includes the stack only for unexpected errors. */
export function explainError(error: unknown): string {
  if (error instanceof StackError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const reason = REASONS[errorCode(error) ?? ''];
  if (reason === undefined) return error.stack ?? error.message;
  const where = 'path' in error && typeof error.path === 'string' ? error.path : error.message;
  return `${where}: ${reason}. TESSERA_DATA_DIR names another data folder.`;
}
