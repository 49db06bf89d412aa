import type { Lab } from '../lab/lab.ts';
import type { Scope } from '../lab/scope.ts';
import type { Absence, Contender, Goal, Row } from '../run/sample.ts';

/** A row before anything is started. */
export interface RowPlan {
  /** What `--only` knows it by. */
  name: string;
  title: string;
  goals: readonly Goal[];
  /** Starts everybody; what it starts ends with the scope. */
  open(lab: Lab, scope: Scope): Promise<Row>;
}

/** Collects the contenders of a row; a reference that cannot be started here is named instead. */
export class RowBuilder {
  readonly #contenders: Contender[] = [];
  readonly #absent: Absence[] = [];

  /** Without this one there is no row. */
  add(contender: Contender): this {
    this.#contenders.push(contender);
    return this;
  }

  /** A peer, which not every machine can run. */
  async addPeer(name: string, start: () => Promise<Contender>): Promise<this> {
    try {
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
