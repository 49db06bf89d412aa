import { type Answer, type Call, wholeNumber } from '../server/exchange.ts';
import type { Ground } from '../server/run-fake.ts';
import { pageOf, relations } from '../tracker/page.ts';

/** How GitHub names a repository in the links between pages: by a number, not by the path that was asked for. */
export const REPOSITORY_ID = 1_296_269;

/** GitHub's pagination: `Link` alone, and none when there is one page. */
export class GitHubPages {
  readonly #ground: Ground;
  readonly #defaultSize: number;

  constructor(ground: Ground, defaultSize = 30) {
    this.#ground = ground;
    this.#defaultSize = defaultSize;
  }

  answer<Item>(call: Call, all: readonly Item[], present: (item: Item) => unknown): Answer {
    const page = pageOf(all, {
      number: wholeNumber(call, 'page'),
      size: wholeNumber(call, 'per_page'),
      defaultSize: this.#defaultSize,
      maxSize: 100,
    });
    const body = page.items.map(present);
    if (page.last === 1 && page.number === 1) return { status: 200, body };
    const { prev, next, first, last } = relations(page);
    // GitHub leaves out `last` and `next` on the last page, `first` and `prev` on the first.
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

  #address({ path, query }: Call, page: number): string {
    const url = new URL(
      path.replace(/\/repos\/[^/]+\/[^/]+/, `/repositories/${REPOSITORY_ID}`),
      this.#ground.origin(),
    );
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    url.searchParams.set('page', String(page));
    return url.href;
  }
}
