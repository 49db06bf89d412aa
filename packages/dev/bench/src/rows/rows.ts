import { type BenchOptions, defaultRows } from '../options.ts';
import {
  discoveryRow,
  jwksRow,
  refreshRow,
  tokenRow,
  userInfoRow,
  verificationRow,
} from './identity.rows.ts';
import { createIssueRow, getIssueRow, listIssuesRow } from './issues.rows.ts';
import { loginStormRow } from './login-storm.row.ts';
import type { RowPlan } from './row-plan.ts';
import { replicasRow, scaleRow } from './tessera.rows.ts';

const scaledEndpoints = ['token', 'refresh', 'userinfo', 'get-issue', 'list-issues'] as const;
const replicatedEndpoints = ['userinfo', 'get-issue', 'list-issues'] as const;

/** The name of the footprint for `--only`. It compares nothing, so it is not a row. */
export const footprintName = 'footprint';

/** Every row, in order. Rows that create issues come last, so that the others find as many as `--rows` says. */
export function rowsFor(rows: BenchOptions['rows']): RowPlan[] {
  const isScaled = rows > defaultRows;
  return [
    ...[tokenRow, loginStormRow, refreshRow, userInfoRow, jwksRow, discoveryRow, getIssueRow, listIssuesRow],
    verificationRow,
    ...replicatedEndpoints.map(replicasRow),
    ...(isScaled ? scaledEndpoints.map((endpoint) => scaleRow(endpoint, rows)) : []),
    createIssueRow,
    ...(isScaled ? [scaleRow('create-issue', rows)] : []),
  ];
}

/** Everything that `--only` may name with so many rows. */
export function rowNamesFor(rows: number): string[] {
  return [...rowsFor(rows).map(({ name }) => name), footprintName];
}
