import type { Outcome, Step, Target } from './outcome.ts';

/** One way to use a client: as documented, or with a line. */
export interface Attempt {
  line?: string;
  run: (target: Target) => Promise<unknown>;
}

/** The name with its version, and the attempts at each step that the client supports. */
export interface StandardClient {
  name: string;
  steps: Partial<Record<Step, readonly Attempt[]>>;
}

/** Runs the steps of each client. The first attempt that works counts. */
export async function runClients(clients: readonly StandardClient[], target: Target): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { name, steps } of clients) {
    for (const [step, attempts] of Object.entries(steps)) {
      outcomes.push({ client: name, step: step as Step, ...(await firstThatWorks(attempts, target)) });
    }
  }
  return outcomes;
}

async function firstThatWorks(attempts: readonly Attempt[], target: Target) {
  let error: string | undefined;
  for (const { line, run } of attempts) {
    try {
      await run(target);
      return { ...(line === undefined ? {} : { line }), ...(error === undefined ? {} : { error }) };
    } catch (reason) {
      error = describe(reason);
    }
  }
  return error === undefined ? {} : { error };
}

function describe(reason: unknown): string {
  const code = typeof reason === 'object' && reason !== null && 'error' in reason ? ` (${reason.error})` : '';
  return `${reason}${code}`;
}
