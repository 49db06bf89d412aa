/**
 * Some 30,000 common passwords in lower case, from zxcvbn's list (NIST SP 800-63B-4 3.1.1.2 wants a blocklist).
 * Loaded only where the blocklist is on: the list costs a few megabytes.
 */
export async function loadBlocklist(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].map((word) => String(word).toLowerCase()));
}
