const storageKey = 'tessera.reloaded';
const pauseMs = 60_000;

/**
 * Reloads the app if one of its files is missing because the service has another release, which happens during a rollout.
 * Without a connection, or if the page still names the files of this release, the app stays: a reload would not help.
 */
export function reloadOnNewRelease(): void {
  addEventListener('vite:preloadError', () => void reloadIfChanged());
}

async function reloadIfChanged(): Promise<void> {
  const last = Number(sessionStorage.getItem(storageKey) ?? 0);
  if (Date.now() - last < pauseMs) return;
  const loaded = document.querySelector<HTMLScriptElement>('script[type=module]')?.getAttribute('src');
  const response = await fetch('/', { headers: { Accept: 'text/html' } }).catch(() => undefined);
  if (response?.ok !== true || (await response.text()).includes(`"${loaded}"`)) return;
  sessionStorage.setItem(storageKey, String(Date.now()));
  location.reload();
}
