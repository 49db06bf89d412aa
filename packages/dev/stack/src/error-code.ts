/** The code of a system error (`ENOENT`, `EACCES`). Works for errors of another realm, too. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined;
}
