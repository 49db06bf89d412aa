import { round } from '../report/markdown.ts';
import type { Cost, Measurements } from './measurements.ts';
import { type OperationName, operationNames, spareFactor } from './profile.ts';
import type { TableSizes } from './table-sizes.ts';

/** Formats the bytes of a table for a request: with a decimal, so that the sum of the tables is that of their bytes. */
export function bytesText(bytes: number): string {
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return bytes.toLocaleString('en', digits);
}

/** The measurements as the report prints them: a reader who computes with the printed costs gets the other printed figures. */
export function asPrinted({ costs, messageMicros }: Measurements): Measurements {
  const printed = operationNames.map((name): [OperationName, Cost] => {
    const { serviceMicros, databaseMicros, bytes } = costs[name];
    return [
      name,
      {
        serviceMicros: numberOf(round(serviceMicros)),
        databaseMicros: numberOf(round(databaseMicros)),
        bytes: { identity: bytesAsPrinted(bytes.identity), issues: bytesAsPrinted(bytes.issues) },
      },
    ];
  });
  return {
    costs: Object.fromEntries(printed) as Record<OperationName, Cost>,
    messageMicros: numberOf(round(messageMicros)),
  };
}

function bytesAsPrinted(bytes: TableSizes['identity']): TableSizes['identity'] {
  return Object.fromEntries(
    Object.entries(bytes).map(([table, each]) => [
      table,
      numberOf(bytesText(spareFactor * each)) / spareFactor,
    ]),
  );
}

const numberOf = (text: string) => Number(text.replaceAll(',', ''));
