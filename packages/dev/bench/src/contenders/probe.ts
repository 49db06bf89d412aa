import { Connection } from '../load/connection.ts';
import { problemOf } from '../load/expectation.ts';
import type { LoadRequest } from '../load/load.ts';

/**
 * Asks once for everything that a load will ask for, and looks at each answer as closely as the load has no time for.
 * @param check throws when the document is not what it should be
 * @returns the requests, each expecting a body as long as the one that was looked at
 */
export async function probed(
  origin: string,
  requests: readonly LoadRequest[],
  check: (document: unknown, request: LoadRequest) => void,
): Promise<LoadRequest[]> {
  const connection = new Connection(origin);
  try {
    const checked: LoadRequest[] = [];
    for (const request of requests) {
      const answer = await connection.send(request);
      const problem = problemOf(answer, request.expect);
      if (problem !== undefined) throw new Error(`${request.method} ${request.path}: ${problem}`);
      check(JSON.parse(answer.body.toString()), request);
      checked.push({ ...request, expect: { ...request.expect, bytes: answer.body.length } });
    }
    return checked;
  } finally {
    await connection.destroy();
  }
}

/** The document that a request is answered with. */
export async function fetchDocument(origin: string, request: LoadRequest): Promise<unknown> {
  let found: unknown;
  await probed(origin, [request], (document) => {
    found = document;
  });
  return found;
}
