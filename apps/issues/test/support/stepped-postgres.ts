import { type ClientMessage, startPostgresProxy } from '@tessera/testing/postgres-proxy';
import type { StepProxy, Steps } from './steps.ts';

/** In front of a PostgreSQL server; a query is a step, and nothing of one that may not be done arrives. */
export function startSteppedPostgres(target: string, steps: Steps): Promise<StepProxy> {
  return startPostgresProxy(target, (forward) => stepByStep(steps, forward));
}

const query = 'Q';
const sync = 'S';
const parse = 'P';
const bind = 'B';
// Of the extended query, whose messages the server carries out as they come and keeps with the Sync at their end.
const partsOfQuery = new Set([parse, bind, 'D', 'E', 'C']);

function stepByStep(steps: Steps, forward: (bytes: Buffer) => void): (message: ClientMessage) => void {
  let held: Buffer[] = [];
  let name = '';
  const statements = new Map<string, string>();
  return ({ type, texts: [first = '', second = ''], bytes }) => {
    held.push(bytes);
    if (type === query) name = shortened(first);
    if (type === parse) statements.set(first, shortened(second));
    if (type === bind) name = statements.get(second) ?? '';
    if (partsOfQuery.has(type)) return;
    if ((type === query || type === sync) && !steps.take(name)) return;
    if (steps.isOver) return;
    for (const part of held) forward(part);
    held = [];
  };
}

function shortened(statement: string): string {
  return statement.replace(/\s+/g, ' ').trim().slice(0, 60);
}
