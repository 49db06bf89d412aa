import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { SqlClient, type SqlRunner, type SqlStatement } from '@tessera/service-kit';

/** A statement that a service has sent. */
export interface SentStatement {
  /** The file and the line in `src/` that sends it. */
  place: string;
  text: string;
  /** The number of blocks of 8 kB that it reads. Other work of the machine does not change it. */
  buffers: number;
}

type Query = TemplateStringsArray | SqlStatement;
type Template = (strings: readonly string[], ...values: readonly unknown[]) => SqlStatement;

/** Explains every statement of a service's repositories right before it is sent. */
export class StatementPlans {
  readonly #src: string;
  readonly #sql: Template;
  readonly #places: string[];
  readonly #original = { ...Object.fromEntries(methods.map((name) => [name, SqlClient.prototype[name]])) };
  #sent: SentStatement[] | undefined;
  /** The places whose statements were recorded. */
  readonly seen = new Set<string>();

  /**
   * @param src the folder of the service's code
   * @param sql `Prisma.sql` of the service
   */
  constructor(src: string, sql: Template) {
    this.#src = src;
    this.#sql = sql;
    this.#places = placesIn(src);
    const plans = this;
    const { $queryRaw, $executeRaw, $transaction } = SqlClient.prototype;
    const aside = async (client: SqlClient, query: Query, values: readonly unknown[], place: string) => {
      const undone = new Error('undone');
      const work = (runner: SqlRunner) =>
        plans.#explain(runner, query, values, place).then(() => Promise.reject(undone));
      await $transaction.call(client, work, {}).catch((error: unknown) => {
        if (error !== undone) throw error;
      });
    };
    SqlClient.prototype.$queryRaw = async function <Rows>(
      this: SqlClient,
      query: Query,
      ...values: unknown[]
    ) {
      const place = plans.#place(new Error().stack);
      if (place !== undefined) await aside(this, query, values, place);
      return $queryRaw.call(this, query, ...values) as Promise<Rows>;
    };
    SqlClient.prototype.$executeRaw = async function (this: SqlClient, query: Query, ...values: unknown[]) {
      const place = plans.#place(new Error().stack);
      if (place !== undefined) await aside(this, query, values, place);
      return $executeRaw.call(this, query, ...values);
    };
    SqlClient.prototype.$transaction = async function <Result>(
      this: SqlClient,
      run: (transaction: SqlRunner) => Promise<Result>,
      options = {},
    ) {
      return $transaction.call(this, (runner) => run(plans.#within(runner)), options) as Promise<Result>;
    };
  }

  /** The places in the code that send a statement and that were not seen. */
  get unseen(): string[] {
    return this.#places.filter((place) => !this.seen.has(place));
  }

  /** Records the statements during the work. */
  async during(work: () => PromiseLike<unknown>): Promise<SentStatement[]> {
    this.#sent = [];
    try {
      await work();
      return this.#sent;
    } finally {
      this.#sent = undefined;
    }
  }

  stop(): void {
    Object.assign(SqlClient.prototype, this.#original);
  }

  #within(runner: SqlRunner): SqlRunner {
    const explained = async (stack: string | undefined, query: Query, values: readonly unknown[]) => {
      const place = this.#place(stack);
      if (place !== undefined) await this.#explain(runner, query, values, place);
    };
    return {
      $queryRaw: async (query, ...values) => {
        await explained(new Error().stack, query, values);
        return runner.$queryRaw(query, ...values);
      },
      $executeRaw: async (query, ...values) => {
        await explained(new Error().stack, query, values);
        return runner.$executeRaw(query, ...values);
      },
    };
  }

  // Explains twice, because the first statement of a connection also reads the catalog.
  async #explain(runner: SqlRunner, query: Query, given: readonly unknown[], place: string): Promise<void> {
    const { text, values } = 'text' in query ? query : this.#sql(query, ...given);
    const explain = { text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values };
    let buffers = 0;
    await runner.$executeRaw({ text: 'SAVEPOINT explained', values: [] });
    for (let time = 1; time <= 2; time += 1) {
      const [row] = await runner.$queryRaw<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }[]>(explain);
      const plan = row?.['QUERY PLAN'][0]?.Plan ?? {};
      buffers = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
      await runner.$executeRaw({ text: 'ROLLBACK TO explained', values: [] });
    }
    this.seen.add(place);
    this.#sent?.push({ place, text, buffers });
  }

  // Undefined while nothing is recorded, and for statements of tests.
  #place(stack = ''): string | undefined {
    if (this.#sent === undefined) return undefined;
    const frame = stack.split('\n').find((line) => line.includes(`${this.#src}/`));
    const [, file = '', line = ''] = /([^\s(]+\.ts):(\d+):\d+/.exec(frame ?? '') ?? [];
    const name = file.slice(file.indexOf(this.#src) + this.#src.length + 1);
    const near = this.#places.filter((place) => {
      const [other, start] = place.split(':');
      return other === name && Math.abs(Number(start) - Number(line)) <= 2;
    });
    const distance = (place: string) => Math.abs(Number(place.split(':')[1]) - Number(line));
    return near.toSorted((one, other) => distance(one) - distance(other))[0];
  }
}

const methods = ['$queryRaw', '$executeRaw', '$transaction'] as const;

function placesIn(src: string): string[] {
  const files = readdirSync(src, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.name.endsWith('.ts') && !file.parentPath.includes('generated'))
    .flatMap((file) => {
      const path = join(file.parentPath, file.name);
      return readFileSync(path, 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          /\$(queryRaw|executeRaw)[<`(]/.test(line) ? [`${relative(src, path)}:${index + 1}`] : [],
        );
    })
    .toSorted();
}
