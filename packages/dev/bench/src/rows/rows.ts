import { type BenchOptions, defaultRows, isSelected } from '../options.ts';
import {
  authorizeRow,
  discoveryRow,
  exchangeRow,
  jwksRow,
  refreshRow,
  tokenRow,
  userInfoRow,
  verificationRow,
} from './identity.rows.ts';
import {
  coldGetIssueRow,
  coldListIssuesRow,
  createIssueRow,
  createWithFileRow,
  getIssueRow,
  listIssuesRow,
  searchIssuesRow,
} from './issues.rows.ts';
import { loginStormRow } from './login-storm.row.ts';
import { isComparedWithBefore, type RowPlan } from './row-plan.ts';
import { replicasRow, scaleRow } from './tessera.rows.ts';

const scaledEndpoints = ['token', 'refresh', 'userinfo', 'get-issue', 'list-issues'] as const;
const replicatedEndpoints = ['userinfo', 'get-issue', 'list-issues'] as const;

/** The name of the footprint for `--only`. It compares nothing, so it is not a row. */
export const footprintName = 'footprint';

/** Returns the rows of a run: those of `--only`, otherwise those that `--against` compares, otherwise all. */
export function rowsFor({ rows, only, against }: BenchOptions): RowPlan[] {
  return allRows(rows).filter((row) =>
    only === undefined && against !== undefined ? isComparedWithBefore(row) : isSelected(row.name, only),
  );
}

// Rows that create issues come last, so that the number of issues equals `--rows` for the other rows.
function allRows(rows: number): RowPlan[] {
  const isScaled = rows > defaultRows;
  return [
    ...[tokenRow, loginStormRow, refreshRow, userInfoRow, jwksRow, discoveryRow],
    ...[authorizeRow, exchangeRow],
    ...[getIssueRow, listIssuesRow, searchIssuesRow, coldGetIssueRow, coldListIssuesRow, verificationRow],
    ...replicatedEndpoints.map(replicasRow),
    ...(isScaled ? scaledEndpoints.map((endpoint) => scaleRow(endpoint, rows)) : []),
    ...[createIssueRow, createWithFileRow],
    ...(isScaled ? [scaleRow('create-issue', rows)] : []),
  ];
}

/** Returns the valid names of `--only` for this number of rows. */
export function rowNamesFor(rows: number): string[] {
  return [...allRows(rows).map(({ name }) => name), footprintName];
}
