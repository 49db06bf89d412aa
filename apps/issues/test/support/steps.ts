/** What a process does to others, step by step; it may be ended before one of the steps. */
export class Steps {
  /** In their order; the last one of a process that was ended is the one that was not done any more. */
  readonly taken: string[] = [];
  #endsAt = Number.POSITIVE_INFINITY;
  #end: () => void = () => {};

  /** Counts from 1 again, and ends the process before a step. */
  endBefore(step: number, end: () => void): void {
    this.taken.length = 0;
    this.#endsAt = step;
    this.#end = end;
  }

  /** Whether the step may be done. */
  take(name: string): boolean {
    if (this.isOver) return false;
    this.taken.push(name);
    if (this.isOver) this.#end();
    return !this.isOver;
  }

  get isOver(): boolean {
    return this.taken.length >= this.#endsAt;
  }
}

/** Stands between a process and somebody that it talks to. */
export interface StepProxy {
  port: number;
  close: () => Promise<void>;
}
