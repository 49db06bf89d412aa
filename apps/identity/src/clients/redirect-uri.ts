import { loopbackUri } from '@tessera/contracts';
import type { Client, RedirectRefusal } from './client.ts';

const shownLength = 500;

/**
 * Whether a redirect URI is registered: equal in every character (RFC 9700 4.1.3). For a public client, a loopback URI may have
 * any port, because the program listens on a free one (RFC 8252 7.3).
 */
export function isRegisteredRedirect({ kind, redirectUris }: Client, sent: string): boolean {
  if (redirectUris.includes(sent)) return true;
  if (kind !== 'public') return false;
  const wanted = withoutPort(sent);
  return wanted !== undefined && redirectUris.some((registered) => withoutPort(registered) === wanted);
}

function withoutPort(uri: string): string | undefined {
  // A port beyond 65,535 is no URL, and on port 0 no program listens.
  if (!URL.canParse(uri) || new URL(uri).port === '0') return undefined;
  const [, host, rest] = loopbackUri.exec(uri) ?? [];
  return host === undefined ? undefined : `${host}${rest}`;
}

/** Explains a refused redirect URI: the registered one with the longest common beginning, and where it differs. */
export function explainRefusal({ redirectUris }: Client, sent: string, at: Date): RedirectRefusal {
  const [nearest] = redirectUris
    .map((registered) => ({ registered, common: commonLength(registered, sent) }))
    .sort((left, right) => right.common - left.common);
  return {
    at: at.toISOString(),
    sent: printable(sent),
    nearest: nearest?.registered ?? null,
    differsAt: nearest === undefined ? null : nearest.common + 1,
  };
}

function commonLength(left: string, right: string): number {
  const end = Math.min(left.length, right.length);
  let length = 0;
  while (length < end && left.charAt(length) === right.charAt(length)) length += 1;
  return length;
}

// Any browser can send it, so it is limited, and shows its invisible characters.
function printable(sent: string): string {
  return sent
    .slice(0, shownLength)
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
