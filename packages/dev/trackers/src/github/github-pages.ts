import { type TrackerRequest, type TrackerResponse, wholeNumber } from '../server/exchange.ts';
import type { FakeContext } from '../server/run-fake.ts';
import { pageOf, relations } from '../tracker/page.ts';

/** GitHub's page links name a repository by its number, not by the requested path. */
export const REPOSITORY_ID = 1_296_269;

/** GitHub's pagination: only `Link`, and none for a single page. */
export class GitHubPages {
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
      size: wholeNumber(call, 'per_page'),
      defaultSize: this.#defaultSize,
      maxSize: 100,
    });
    const body = page.items.map(present);
    if (page.last === 1 && page.number === 1) return { status: 200, body };
    const { prev, next, first, last } = relations(page);
    // GitHub omits `last` and `next` on the last page, `first` and `prev` on the first.
    const shown = {
      prev,
      next,
      ...(next === undefined ? {} : { last }),
      ...(prev === undefined ? {} : { first }),
    };
    const links = Object.entries(shown).flatMap(([name, number]) =>
      number === undefined ? [] : [`<${this.#address(call, number)}>; rel="${name}"`],
    );
    return { status: 200, headers: { link: links.join(', ') }, body };
  }

  #address({ path, query }: TrackerRequest, page: number): string {
    const url = new URL(
      path.replace(/\/repos\/[^/]+\/[^/]+/, `/repositories/${REPOSITORY_ID}`),
      this.#context.origin(),
    );
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    url.searchParams.set('page', String(page));
    return url.href;
  }
}
