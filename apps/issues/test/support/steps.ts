/** The requests and queries of a process, counted; ends the process before a given one. */
export class Steps {
  /** In order; the last step of an ended process was not forwarded. */
  readonly taken: string[] = [];
  #endsAt = Number.POSITIVE_INFINITY;
  #end: () => void = () => {};

  /** Restarts the count at 1 and calls `end` before the given step. */
  endBefore(step: number, end: () => void): void {
    this.taken.length = 0;
    this.#endsAt = step;
    this.#end = end;
  }

  /** Records a step and returns whether to forward it. */
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

/** A proxy between a process and a server. */
export interface StepProxy {
  port: number;
  close: () => Promise<void>;
}
