const storageKey = 'tessera.reloaded';
const pauseMs = 60_000;

/**
 * Reloads the app if one of its files is missing because the service has another release, which happens during a rollout.
 * Without a connection, or if the page still names the files of this release, the app stays: a reload would not help.
 */
export function reloadOnNewRelease(): void {
  addEventListener('vite:preloadError', () => void reloadIfChanged());
}

function reloadIfChanged(): Promise<void> {
  const loaded = document.querySelector<HTMLScriptElement>('script[type=module]')?.getAttribute('src');
  return reloadIf((html) => !html.includes(`"${loaded}"`));
}

/** Reloads the app once in a minute, if the service can be reached and the page that it sends is `wanted`. */
export async function reloadIf(wanted: (html: string) => boolean): Promise<void> {
  const last = Number(sessionStorage.getItem(storageKey) ?? 0);
  if (Date.now() - last < pauseMs) return;
  const response = await fetch('/', { headers: { Accept: 'text/html' } }).catch(() => undefined);
  if (response?.ok !== true || !wanted(await response.text())) return;
  sessionStorage.setItem(storageKey, String(Date.now()));
  location.reload();
}
