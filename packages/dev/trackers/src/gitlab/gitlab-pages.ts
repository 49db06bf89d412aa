import { type Answer, type Call, wholeNumber } from '../server/exchange.ts';
import type { Ground } from '../server/run-fake.ts';
import { pageOf, relations } from '../tracker/page.ts';

/** GitLab's offset pagination: `Link` and the `X-` headers, on every list, an absent page as an empty value. */
export class GitLabPages {
  readonly #ground: Ground;
  readonly #defaultSize: number;

  constructor(ground: Ground, defaultSize = 20) {
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

  #address({ path, query, params }: Call, page: number, size: number): string {
    const url = new URL(path, this.#ground.origin());
    // GitLab repeats the parameters of the path among those of the query.
    for (const [name, value] of Object.entries({ ...query, ...params }))
      for (const one of [value ?? []].flat()) url.searchParams.append(name, one);
    url.searchParams.set('page', String(page));
    url.searchParams.set('per_page', String(size));
    return url.href;
  }
}
