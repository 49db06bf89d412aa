import { type ClientMessage, startPostgresProxy } from '@tessera/testing/postgres-proxy';
import { applicationOf, isInBackground } from '@tessera/testing/round-trips';
import type { StepProxy, Steps } from './steps.ts';

/**
 * Starts a proxy to PostgreSQL. Each query is a step and is forwarded completely or not at all, except those in the
 * background. After a query that was not forwarded, the connection forwards nothing.
 */
export function startSteppedPostgres(target: string, steps: Steps): Promise<StepProxy> {
  return startPostgresProxy(target, (forward) => stepByStep(steps, forward));
}

const query = 'Q';
const sync = 'S';
const parse = 'P';
const bind = 'B';
// Messages of the extended query protocol, which end with a Sync.
const partsOfQuery = new Set([parse, bind, 'D', 'E', 'C']);

function stepByStep(steps: Steps, forward: (bytes: Buffer) => void): (message: ClientMessage) => void {
  let held: Buffer[] = [];
  let statement = '';
  let application = '';
  let isStopped = false;
  const statements = new Map<string, string>();
  return ({ type, texts: [first = '', second = '', ...others], bytes }) => {
    held.push(bytes);
    if (type === '') application = applicationOf([first, second, ...others]);
    if (type === query) statement = first;
    if (type === parse) statements.set(first, second);
    if (type === bind) statement = statements.get(second) ?? '';
    if (partsOfQuery.has(type)) return;
    if (!isStopped && (type === query || type === sync) && !isInBackground(application, statement))
      isStopped = !steps.take(shortened(statement));
    if (isStopped) return;
    for (const part of held) forward(part);
    held = [];
  };
}

function shortened(statement: string): string {
  return statement.replace(/\s+/g, ' ').trim().slice(0, 60);
}
