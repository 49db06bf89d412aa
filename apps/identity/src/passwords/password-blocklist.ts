/**
 * About 30,000 common passwords in lower case, from zxcvbn (NIST SP 800-63B-4 3.1.1.2 requires a blocklist). Imported on
 * demand, because the list takes a few megabytes of memory.
 */
export async function loadBlocklist(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].map((word) => String(word).toLowerCase()));
}
