import { type TrackerRequest, type TrackerResponse, wholeNumber } from '../server/exchange.ts';
import type { FakeContext } from '../server/run-fake.ts';
import { pageOf, relations } from '../tracker/page.ts';

/** GitLab's offset pagination: `Link` and the `X-` headers on every list, empty for a missing page. */
export class GitLabPages {
  readonly #context: FakeContext;
  readonly #defaultSize: number;

  constructor(context: FakeContext, defaultSize = 20) {
    this.#context = context;
    this.#defaultSize = defaultSize;
  }

  respond<Item>(
    call: TrackerRequest,
    all: readonly Item[],
    present: (item: Item) => unknown,
  ): TrackerResponse {
    const page = pageOf(all, {
      number: wholeNumber(call, 'page'),
      size: wholeNumber(call, 'per_page'),
      defaultSize: this.#defaultSize,
      maxSize: 100,
    });
    const related = relations(page);
    const links = Object.entries(related).map(
      ([name, number]) => `<${this.#address(call, number, page.size)}>; rel="${name}"`,
    );
    return {
      status: 200,
      headers: {
        link: links.join(', '),
        'x-page': page.number,
        'x-per-page': page.size,
        'x-prev-page': related.prev ?? '',
        'x-next-page': related.next ?? '',
        'x-total': page.total,
        'x-total-pages': page.last,
      },
      body: page.items.map(present),
    };
  }

  #address({ path, query, params }: TrackerRequest, page: number, size: number): string {
    const url = new URL(path, this.#context.origin());
    // GitLab repeats the path's parameters in the query.
    for (const [name, value] of Object.entries({ ...query, ...params }))
      for (const one of [value ?? []].flat()) url.searchParams.append(name, one);
    url.searchParams.set('page', String(page));
    url.searchParams.set('per_page', String(size));
    return url.href;
  }
}
