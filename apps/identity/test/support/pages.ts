import { expect } from '@jest/globals';
import type { Response, Test } from 'supertest';

/** Where a page's `Link` header points, or undefined on the last one. */
export function nextPath(response: Response): string | undefined {
  const link: string | undefined = response.headers.link;
  if (link === undefined) return undefined;
  const [, path] = /^<(\/[^>]+)>; rel="next"$/.exec(link) ?? [];
  expect(path).toBeDefined();
  return path;
}

/** Every item of a list, walked by its links, and how many pages that took. */
export async function walk<Item>(
  get: (path: string) => Test,
  first: string,
): Promise<{ items: Item[]; pages: number }> {
  const items: Item[] = [];
  let pages = 0;
  for (let path: string | undefined = first; path !== undefined; pages += 1) {
    const response: Response = await get(path).expect(200);
    items.push(...response.body);
    path = nextPath(response);
  }
  return { items, pages };
}
