import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { encodeCursor, ProblemError, readKeysetPage } from '../src/index.ts';

const place = z.int().positive();
const item = (row: number) => ({ row });
const presenter = { item, place: (row: number) => row };

function read(query: { limit?: number; cursor?: string }, url = '/list?kind=a') {
  return readKeysetPage(query, { url, place, sizeDefault: 3 });
}

function cursorIn(link = ''): string {
  return new URL(link.slice(1).split('>')[0] ?? '', 'http://x').searchParams.get('cursor') ?? '';
}

describe('readKeysetPage', () => {
  it('reads one row more than the page size', () => {
    expect(read({})).toMatchObject({ limit: 4, after: undefined });
    expect(read({ limit: 10 })).toMatchObject({ limit: 11 });
  });

  it('links to the next page if further rows follow', () => {
    const first = read({ limit: 2 }).present([1, 2, 3], presenter);
    expect(first.body).toBe('[{"row":1},{"row":2}]');
    const cursor = cursorIn(first.headers.Link);
    expect(first.headers.Link).toBe(`</list?kind=a&limit=2&cursor=${cursor}>; rel="next"`);
    const second = read({ limit: 2, cursor });
    expect(second.after).toBe(2);
    expect(second.present([3, 4], presenter).headers).toEqual({});
  });

  it('ends a page before 512 KiB and links to the rest', () => {
    const text = 'x'.repeat(200_000);
    const { body, headers } = read({}).present([1, 2, 3], { ...presenter, item: (row) => ({ row, text }) });
    expect(JSON.parse(body)).toHaveLength(2);
    expect(read({ cursor: cursorIn(headers.Link) }).after).toBe(2);
  });

  it('keeps an absolute URL absolute', () => {
    const { headers } = read({ limit: 1 }, 'https://issues.example/list/').present([1, 2], presenter);
    expect(headers.Link).toMatch(/^<https:\/\/issues\.example\/list\/\?limit=1&cursor=\w/);
  });

  it('accepts a cursor with any limit, and with the URL of its own page', () => {
    const cursor = encodeCursor(7, '/list?kind=a');
    expect(read({ limit: 5, cursor }).after).toBe(7);
    expect(read({ cursor }, `/list?kind=a&limit=2&cursor=${cursor}`).after).toBe(7);
  });

  it.each([
    ['of another list', encodeCursor(7, '/list?kind=b')],
    ['that was changed', encodeCursor(7, '/list?kind=a').replace(/.$/, '')],
    ['with an invalid place', encodeCursor(-7, '/list?kind=a')],
    ['that is no cursor', 'nonsense'],
    ['that is empty', ''],
  ])('throws a 422 problem for a cursor %s', (_, cursor) => {
    expect(() => read({ cursor })).toThrow(ProblemError);
    expect(() => read({ cursor })).toThrow(expect.objectContaining({ status: 422 }));
  });
});
