import { availableParallelism } from 'node:os';
import { type EndpointName, endpoints } from '../contenders/endpoints.ts';
import { tesseraContender } from '../contenders/tessera.ts';
import { defaultRows } from '../options.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

const oneProcess = 'one process';
const fewRows = `at ${defaultRows.toLocaleString('en')} rows`;

// Client, PostgreSQL and two processes: one process with its client and PostgreSQL uses two cores.
const isTooSmall = availableParallelism() < 4;
const outOfReach = 'one process and its PostgreSQL use all cores';

/** Compares two replicas on one database with one. */
export function replicasRow(endpoint: 'userinfo' | 'get-issue' | 'list-issues'): RowPlan {
  return {
    name: `replicas-${endpoint}`,
    title: `Two replicas instead of one: ${endpoint}`,
    goals: [{ kind: 'ratio', of: oneProcess, atLeast: 1.4, ...(isTooSmall ? { outOfReach } : {}) }],
    start: async (lab, scope) => {
      const tessera = await lab.tessera();
      const second = endpoint === 'userinfo' ? tessera.secondIdentity : tessera.secondIssues;
      await second.start();
      scope.defer(() => second.stop());
      return new RowBuilder(lab.options)
        .add(
          await tesseraContender(lab, tessera, endpoints[endpoint], { name: 'two processes', both: true }),
          await tesseraContender(lab, tessera, endpoints[endpoint], { name: oneProcess }),
        )
        .build();
    },
  };
}

/** Compares an endpoint with many issues and identities with the same endpoint with a thousand. */
export function scaleRow(endpoint: EndpointName, rows: number): RowPlan {
  const manyRows = `at ${rows.toLocaleString('en')} rows`;
  return {
    name: `scale-${endpoint}`,
    title: `${rows.toLocaleString('en')} issues and identities: ${endpoint}`,
    goals: [{ kind: 'ratio', of: fewRows, atLeast: 0.85 }],
    start: async (lab) =>
      new RowBuilder(lab.options)
        .add(
          await tesseraContender(lab, await lab.tessera({ rows }), endpoints[endpoint], { name: manyRows }),
          await tesseraContender(lab, await lab.tessera(), endpoints[endpoint], { name: fewRows }),
        )
        .build(),
  };
}
