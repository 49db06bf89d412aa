import { isDeepStrictEqual } from 'node:util';
import { startStack } from '@tessera/stack';
import { createTable, type Outcomes, PageTable, toMarkdown } from './client-table.ts';
import { debianPrograms, runDebianClients, runNpmClients } from './programs.ts';
import { runInBothSettings } from './run-in-both-settings.ts';

/** Runs all installed clients and prints the table. @returns whether the README has the same results */
export async function reportClients({ write }: { write: boolean }): Promise<boolean> {
  const outcomes = await runInstalledClients();
  const table = createTable(outcomes);
  process.stdout.write(`${toMarkdown(table)}\n`);
  printErrors(outcomes);
  const isComplete = await printMissing();
  const readme = new PageTable();
  if (write && isComplete) readme.write(table);
  const { rows, lines } = readme.read();
  const differing = table.rows.filter((row) => !rows.some((other) => isDeepStrictEqual(row, other)));
  for (const [client] of differing) process.stderr.write(`clients: ${client} differs from the README.\n`);
  return (
    differing.length === 0 && table.lines.every((line) => lines.includes(line)) && (!write || isComplete)
  );
}

async function runInstalledClients(): Promise<Outcomes> {
  const stack = await startStack({ replicas: { issues: 0 } });
  try {
    return await runInBothSettings(stack, async (target) => [
      ...(await runNpmClients(target)),
      ...(await runDebianClients(target)),
    ]);
  } finally {
    await stack.stop();
  }
}

// The reason for each "no" and each line.
function printErrors({ byDefault, withOptions }: Outcomes): void {
  for (const [setting, outcomes] of Object.entries({
    'by default': byDefault,
    'with options': withOptions,
  })) {
    for (const { client, step, error } of outcomes) {
      if (error !== undefined) process.stdout.write(`${client}, ${step}, ${setting}: ${error}\n`);
    }
  }
}

async function printMissing(): Promise<boolean> {
  let isComplete = true;
  for (const { names, packages, find } of debianPrograms) {
    if ((await find()) !== undefined) continue;
    isComplete = false;
    process.stdout.write(`Not run, because not installed: ${names} (apt-get install ${packages})\n`);
  }
  return isComplete;
}
