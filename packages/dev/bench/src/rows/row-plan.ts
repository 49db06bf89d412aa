import type { Endpoint } from '../contenders/endpoints.ts';
import { before, tesseraContender } from '../contenders/tessera.ts';
import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { BenchOptions } from '../options.ts';
import type { Absence, Contender, Goal, Row } from '../run/sample.ts';

/** A row before its contenders are started. */
export interface RowPlan {
  /** The name for `--only`. */
  name: string;
  title: string;
  goals: readonly Goal[];
  /** Starts the contenders, Tessera first. They stop when the scope closes. */
  start(lab: Lab, scope: Scope): Promise<Row>;
}

/** Collects the contenders of a row. */
export class RowBuilder {
  readonly #contenders: Contender[] = [];
  readonly #absent: Absence[] = [];
  readonly #options: Pick<BenchOptions, 'peers'>;

  constructor(options: Pick<BenchOptions, 'peers'>) {
    this.#options = options;
  }

  add(...contenders: Contender[]): this {
    this.#contenders.push(...contenders);
    return this;
  }

  /** Adds a peer, or the reason why it is left out, such as that it cannot run on this machine. */
  async addPeer(name: string, start: () => Promise<Contender>): Promise<this> {
    try {
      if (!this.#options.peers) throw new Error('left out by --no-peers');
      this.#contenders.push(await start());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#absent.push({ name, reason: reason.split('\n')[0] ?? '' });
    }
    return this;
  }

  build(): Row {
    return { contenders: this.#contenders, absent: this.#absent };
  }
}

/** Whether `--against` adds a contender to a row. */
export function isComparedWithBefore({ goals }: Pick<RowPlan, 'goals'>): boolean {
  return goals.some((goal) => goal.kind === 'ratio' && goal.of === before);
}

interface EndpointRow extends Omit<RowPlan, 'start'> {
  endpoint: Endpoint;
  /** The number of issues and identities; default: a thousand. */
  rows?: number;
  addReferences(row: RowBuilder, context: { lab: Lab; scope: Scope; tessera: Tessera }): Promise<unknown>;
}

/** Compares an endpoint of Tessera with the one of `--against`, if a goal names it, and with references. */
export function endpointRow({ endpoint, rows, addReferences, ...row }: EndpointRow): RowPlan {
  return {
    ...row,
    start: async (lab, scope) => {
      const tessera = await lab.tessera({ rows });
      const contenders = new RowBuilder(lab.options).add(await tesseraContender(lab, tessera, endpoint));
      const checkout = lab.options.against;
      if (checkout !== undefined && isComparedWithBefore(row)) {
        const earlier = await lab.tessera({ rows, checkout });
        contenders.add(await tesseraContender(lab, earlier, endpoint, { name: before }));
      }
      await addReferences(contenders, { lab, scope, tessera });
      return contenders.build();
    },
  };
}
