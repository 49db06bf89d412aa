/** One page of a list, with its position. */
export interface Page<Item> {
  readonly items: Item[];
  readonly number: number;
  readonly size: number;
  readonly total: number;
  /** At least 1, also for an empty list. */
  readonly last: number;
}

export interface PageRequest {
  readonly number: number | undefined;
  readonly size: number | undefined;
  readonly defaultSize: number;
  /** Larger sizes are silently reduced to this, as all three trackers do. */
  readonly maxSize: number;
}

export function pageOf<Item>(all: readonly Item[], request: PageRequest): Page<Item> {
  const number = Math.max(1, request.number ?? 1);
  const wanted = request.size !== undefined && request.size > 0 ? request.size : request.defaultSize;
  const size = Math.min(wanted, request.maxSize);
  const last = Math.max(1, Math.ceil(all.length / size));
  return { items: all.slice((number - 1) * size, number * size), number, size, total: all.length, last };
}

/** The RFC 8288 relations of a page, as page numbers. */
export function relations(page: Page<unknown>): {
  prev?: number;
  next?: number;
  first: number;
  last: number;
} {
  return {
    ...(page.number > 1 ? { prev: page.number - 1 } : {}),
    ...(page.number < page.last ? { next: page.number + 1 } : {}),
    first: 1,
    last: page.last,
  };
}
