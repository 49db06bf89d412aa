import { expect } from '@jest/globals';
import type { Response, Test } from 'supertest';

/** Returns the path of the next page from the `Link` header; undefined on the last page. */
export function nextPath(response: Response): string | undefined {
  const link: string | undefined = response.headers.link;
  if (link === undefined) return undefined;
  const [, path] = /^<(\/[^>]+)>; rel="next"$/.exec(link) ?? [];
  expect(path).toBeDefined();
  return path;
}

/** Follows the `Link` headers of a list and returns its items and the number of pages. */
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
