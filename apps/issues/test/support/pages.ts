import { expect } from '@jest/globals';
import type { Response } from 'supertest';
import { publicBaseUrl } from './environment.ts';
import type { TestPerson } from './people.ts';

/** Path and query of a public address of ours. */
export function pathOf(address: string | undefined): string {
  expect(address).toMatch(new RegExp(`^${publicBaseUrl}/api/v1/issues/`));
  const url = new URL(address ?? '');
  expect(url.pathname.endsWith('/')).toBe(true);
  return `${url.pathname}${url.search}`;
}

/** Where the `Link` header says that the next page is. */
export function nextOf(response: Response): string | undefined {
  const { link } = response.headers;
  return link === undefined ? undefined : pathOf(/^<([^>]+)>; rel="next"$/.exec(link)?.[1]);
}

/** All pages of an array, by its `Link` headers; something may happen between two pages. */
export async function followLinks<Item>(
  person: TestPerson,
  path: string,
  between: () => Promise<void> = async () => undefined,
): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const response: Response = await person.get(next).expect(200);
    pages.push(response.body);
    next = nextOf(response);
    if (pages.length > 100) throw new Error('the pages have no end');
    if (next !== undefined && pages.length < 20) await between();
  }
  return pages;
}
