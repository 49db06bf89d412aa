import type { MachineFacts } from '../report/bench-report.ts';
import type { OperationName } from './profile.ts';
import type { TableSizes } from './table-sizes.ts';

/** The cost of one request, measured without other requests at half of the throughput. */
export interface Cost {
  serviceMicros: number;
  databaseMicros: number;
  /** The stored bytes of each table, without dead rows and free space. */
  bytes: TableSizes;
}

/** A figure of the table beside a measurement that was not used for it. */
export interface Proof {
  claim: string;
  unit: 'µs' | 'bytes';
  table: number;
  measured: number;
}

export interface Measurements {
  costs: Record<OperationName, Cost>;
  /** Processor time of an event for each open stream. */
  messageMicros: number;
}

/** The results of a run, in the form of its JSON file. */
export interface SizingResults extends Measurements {
  date: string;
  machine: MachineFacts;
  /** The daily users whose busiest hour was measured, by the service that got their requests. */
  mixUsers: { identity: number; issues: number };
  mixSeconds: number;
  proofs: Proof[];
}

/** Whether a measurement differs from the table by at most a third. */
export function isShown({ table, measured }: Proof): boolean {
  return Math.abs(measured / table - 1) <= 1 / 3;
}
