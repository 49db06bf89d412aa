import type { Fault, RecordedRequest } from '../fake-tracker.ts';

/** The faults that are not used up. */
export class Faults {
  #waiting: { readonly fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#waiting.push({ fault, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  /** The oldest fault that matches the request; counts as used once. */
  take(request: RecordedRequest): Fault | undefined {
    const found = this.#waiting.find(({ fault, left }) => left > 0 && meets(fault, request));
    if (found === undefined) return undefined;
    found.left -= 1;
    this.#waiting = this.#waiting.filter(({ left }) => left > 0);
    return found.fault;
  }
}

function meets({ on }: Fault, { method, path }: RecordedRequest): boolean {
  if (on?.method !== undefined && on.method.toUpperCase() !== method) return false;
  // search() ignores lastIndex, which a pattern with the g or y flag keeps.
  return on?.path === undefined || path.search(on.path) !== -1;
}
