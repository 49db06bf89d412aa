/** Returns a target of the URL if it is a path of this app, or else the list. Another site could have written the URL. */
export function ownPath(target = ''): string {
  if (!URL.canParse(target, location.origin)) return '/issues';
  const { origin, pathname, search, hash } = new URL(target, location.origin);
  const isOwn = origin === location.origin && /^\/(?:issues|inbox|my|board|settings)(?:\/|$)/.test(pathname);
  return isOwn ? pathname + search + hash : '/issues';
}
