/** The first parts of the paths to which a sign-in may return. `pages.ts` has a page for each. */
const places = ['issues', 'inbox', 'my', 'board', 'settings'] as const;
export type Place = (typeof places)[number];

/** Returns a target of the URL if it is a path of this app, or else the list. Another site could have written the URL. */
export function ownPath(target = ''): string {
  if (!URL.canParse(target, location.origin)) return '/issues';
  const { origin, pathname, search, hash } = new URL(target, location.origin);
  const isOwn = origin === location.origin && places.some((place) => place === pathname.split('/')[1]);
  return isOwn ? pathname + search + hash : '/issues';
}
