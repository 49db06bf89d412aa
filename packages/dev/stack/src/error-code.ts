/** The code of a system error (`ENOENT`, `EACCES`), asked in a way that also holds across realms. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined;
}
