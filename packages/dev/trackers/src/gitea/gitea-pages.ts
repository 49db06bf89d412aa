import { type TrackerRequest, type TrackerResponse, wholeNumber } from '../server/exchange.ts';
import type { FakeContext } from '../server/run-fake.ts';
import { pageOf, relations } from '../tracker/page.ts';

/** Gitea's pagination: `Link` without spaces between the links, and `X-Total-Count`. */
export class GiteaPages {
  readonly #context: FakeContext;
  readonly #defaultSize: number;

  constructor(context: FakeContext, defaultSize = 30) {
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
      size: wholeNumber(call, 'limit'),
      defaultSize: this.#defaultSize,
      maxSize: 50,
    });
    const { prev, next, first, last } = relations(page);
    const shown = {
      next,
      last: page.number < page.last ? last : undefined,
      first: page.number > 1 ? first : undefined,
      prev,
    };
    const links = Object.entries(shown).flatMap(([name, number]) =>
      number === undefined ? [] : [`<${this.#address(call, number)}>; rel="${name}"`],
    );
    return {
      status: 200,
      headers: { 'x-total-count': page.total, ...(links.length === 0 ? {} : { link: links.join(',') }) },
      body: page.items.map(present),
    };
  }

  #address({ path, query }: TrackerRequest, page: number): string {
    const url = new URL(path, this.#context.origin());
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    url.searchParams.set('page', String(page));
    url.searchParams.sort();
    return url.href;
  }
}
