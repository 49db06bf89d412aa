/** The requests and queries of a process, counted sync by sync; stops each sync before a given one. */
export class Steps {
  #taken: string[] = [];
  #turns = new Map<string, number>();
  #last: string | undefined;
  #stop: (() => void) | undefined;

  /** Whether a sync has begun. */
  get areCounted(): boolean {
    return this.#stop !== undefined;
  }

  /** The steps of the latest sync in order. Repeated steps have a number. */
  get taken(): readonly string[] {
    return this.#taken;
  }

  /**
   * Begins to count the steps of a sync. The promise resolves when the given step is reached; it never resolves for
   * undefined.
   */
  stopBefore(step: string | undefined): Promise<void> {
    this.#taken = [];
    this.#turns = new Map();
    this.#last = step;
    return new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  /** Records a step and returns whether to forward it. */
  take(name: string): boolean {
    if (!this.areCounted) return true;
    const turn = (this.#turns.get(name) ?? 0) + 1;
    this.#turns.set(name, turn);
    const step = turn === 1 ? name : `${name}, ${turn}`;
    this.#taken.push(step);
    if (step !== this.#last) return true;
    this.#stop?.();
    return false;
  }
}

/** A proxy between a process and a server. */
export interface StepProxy {
  port: number;
  close: () => Promise<void>;
}
