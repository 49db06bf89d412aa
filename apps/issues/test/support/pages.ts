import { expect } from '@jest/globals';
import type { Response } from 'supertest';
import { publicBaseUrl } from './environment.ts';
import type { TestPerson } from './people.ts';

/** Returns path and query of a public URL of this service. */
export function pathOf(publicUrl: string | undefined): string {
  expect(publicUrl).toMatch(new RegExp(`^${publicBaseUrl}/api/v1/(issues|issue-pages|webhooks)/`));
  const url = new URL(publicUrl ?? '');
  expect(url.pathname.endsWith('/')).toBe(true);
  return `${url.pathname}${url.search}`;
}

/** Returns the path of the next page from the `Link` header. */
export function nextOf(response: Response): string | undefined {
  const { link } = response.headers;
  return link === undefined ? undefined : pathOf(/^<([^>]+)>; rel="next"$/.exec(link)?.[1]);
}

/** Follows the `Link` headers of an array and calls `between` between two pages. */
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
    if (pages.length > 100) throw new Error('too many pages');
    if (next !== undefined && pages.length < 20) await between();
  }
  return pages;
}
