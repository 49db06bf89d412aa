import { type BenchOptions, defaultRows } from '../options.ts';
import { discoveryRow, jwksRow } from './documents.row.ts';
import { createIssueRow, getIssueRow, listIssuesRow } from './issues.rows.ts';
import { loginStormRow } from './login-storm.row.ts';
import { refreshRow } from './refresh.row.ts';
import { replicaRows } from './replicas.rows.ts';
import type { RowPlan } from './row-plan.ts';
import { scaleRow } from './scale.rows.ts';
import { tokenRow } from './token.row.ts';
import { userInfoRow } from './userinfo.row.ts';
import { verificationRow } from './verification.row.ts';

const scaledPaths = ['token', 'refresh', 'userinfo', 'get-issue', 'list-issues'] as const;

/** What the footprint is asked for by; it compares nobody and is no row. */
export const footprintName = 'footprint';

/** Every row in its order: those that write issues come last, so that the others find as many as is said. */
export function rowsFor(rows: BenchOptions['rows']): RowPlan[] {
  const isScaled = rows > defaultRows;
  return [
    ...[tokenRow, loginStormRow, refreshRow, userInfoRow, jwksRow, discoveryRow, getIssueRow, listIssuesRow],
    verificationRow,
    ...replicaRows,
    ...(isScaled ? scaledPaths.map((path) => scaleRow(path, rows)) : []),
    createIssueRow,
    ...(isScaled ? [scaleRow('create-issue', rows)] : []),
  ];
}

/** Everything that `--only` may name with so many rows. */
export function rowNamesFor(rows: number): string[] {
  return [...rowsFor(rows).map(({ name }) => name), footprintName];
}
