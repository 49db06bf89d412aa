import { setTimeout as sleep } from 'node:timers/promises';
import { httpClient } from '@tessera/stack';
import type { AxiosInstance } from 'axios';
import type { Tessera } from '../lab/tessera.ts';
import type { Contender } from '../run/sample.ts';
import { checkIssue, checkList, type Endpoint, getRequest, listRequest } from './endpoints.ts';

/**
 * The number of issues for the rows without cache hits. The cache of the service holds 16 Mi characters and drops the least
 * recently used document. The 10,000 issues that are requested alone have 24 million characters, the 100,000 of the list
 * 73 million. They are requested in a cycle, so each document has been dropped before it is requested again.
 */
export const coldRows = 100_000;

/** Gets each issue with comments and links in turn, in random order. */
export const coldGet = {
  service: 'issues',
  requests: async (tessera) => {
    const { rows } = await tessera.stack.sql(
      'issues',
      'SELECT id FROM issues WHERE comments_count > 0 ORDER BY md5(id::text)',
    );
    return rows.map(({ id }: { id: string }, index) => getRequest(tessera, id, index));
  },
  check: checkIssue,
  verify: (contender, tessera) => withoutCacheHits(contender, tessera, 2),
} as const satisfies Endpoint;

/** Lists each page in turn, in an order in which consecutive pages are far from each other. */
export const coldList = {
  service: 'issues',
  requests: async (tessera) =>
    (await pagesOf(tessera)).map(({ path }, index) => listRequest(tessera, index, path)),
  check: checkList,
  // Every tenth issue has two links.
  verify: (contender, tessera) => withoutCacheHits(contender, tessera, 10),
} as const satisfies Endpoint;

/** The pages of {@link coldList}, each identified by the last issue of the previous page. */
export async function coldListPositions(tessera: Tessera): Promise<ListPosition[]> {
  return (await pagesOf(tessera)).map(({ after }) => after);
}

interface ListPosition {
  created_at: string;
  id: string;
}

interface Page {
  path: string;
  /** The last issue of the previous page. */
  after: ListPosition;
}

const walkedPages = new WeakMap<Tessera, Promise<Page[]>>();

function pagesOf(tessera: Tessera): Promise<Page[]> {
  const pages = walkedPages.get(tessera) ?? walkPages(tessera);
  walkedPages.set(tessera, pages);
  return pages;
}

async function walkPages(tessera: Tessera): Promise<Page[]> {
  const { path, headers } = listRequest(tessera, 0);
  const client = httpClient(tessera.issues.url, { headers: { ...headers } });
  const pages: Page[] = [];
  for (let page = await fetchNextPage(client, path); page !== undefined; ) {
    pages.push(page);
    page = await fetchNextPage(client, page.path);
  }
  // A step without a common divisor visits every page once.
  const step = 787;
  return pages.map((page, index) => pages[(index * step) % pages.length] ?? page);
}

async function fetchNextPage(client: AxiosInstance, path: string): Promise<Page | undefined> {
  const { data, headers } = await client.get(path);
  const url = /<([^>]+)>; rel="next"/.exec(headers.link)?.[1];
  if (url === undefined) return undefined;
  const { created_at, id } = data.at(-1);
  return { path: url.slice(new URL(url).origin.length), after: { created_at, id } };
}

/**
 * Measures like the contender, and checks that the service did not respond from its cache: it reads an issue's links from
 * PostgreSQL only for a document that is not cached.
 * @param links of one response
 */
function withoutCacheHits(contender: Contender, { stack }: Tessera, links: number): Contender {
  const countReads = async (): Promise<number> => {
    const { rows } = await stack.sql(
      'issues',
      "SELECT seq_tup_read + idx_tup_fetch AS reads FROM pg_stat_user_tables WHERE relname = 'issue_links'",
    );
    return Number(rows[0].reads);
  };
  return {
    ...contender,
    measure: async (seconds) => {
      const before = await countReads();
      const sample = await contender.measure(seconds);
      // PostgreSQL publishes its counts late: under load after a second, of an idle connection after ten.
      for (let attempt = 0; attempt < 30; attempt += 1) {
        const reads = (await countReads()) - before;
        if (reads > 0.5 * links * sample.operations) return sample;
        await sleep(500);
      }
      throw new Error(`${contender.name} responded from its cache`);
    },
  };
}
