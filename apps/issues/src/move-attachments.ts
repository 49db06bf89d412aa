import { createLogger, runCommandLine, UsageError } from '@tessera/service-kit';
import { AttachmentMoveRepository } from './attachments/attachment-move.repository.ts';
import { AttachmentMove } from './attachments/attachment-move.ts';
import { storeNames, storeOf } from './attachments/blob-store.ts';
import { createStores } from './attachments/create-stores.ts';
import { loadConfig } from './config.ts';
import { createDatabase } from './database.ts';

const help = `Usage: node dist/move-attachments.js --to STORE

Moves all files to another store, while the service runs. The bytes of each file are verified. If it is interrupted, run it again: it
continues. The bytes in the former store are deleted an hour later by the service, which needs its settings until then.

Options:
  --to STORE               database or s3.
  -h, --help               Print this help.

Environment: that of the service.

Exit codes: 0 success, 1 some files were not moved, 2 invalid command line.

Example:
  node dist/move-attachments.js --to s3
`;

async function moveTo(to: string | undefined): Promise<number> {
  const name = storeNames.find((one) => one === to);
  if (name === undefined) throw new UsageError(`--to must be ${storeNames.join(' or ')}`);
  const config = loadConfig();
  if (name === 's3' && config.attachments.s3 === undefined) throw new UsageError('S3_ENDPOINT is not set');
  const logger = createLogger({ service: 'issues', level: 'warn' });
  const main = createDatabase({ ...config.database, poolMax: 2 }, logger);
  try {
    const stores = createStores(config.attachments, main.database);
    const target = storeOf(stores, name);
    await target.check();
    const move = new AttachmentMove({
      repository: new AttachmentMoveRepository(main.database),
      stores,
      onMoved: (count) => {
        if (count % 100 === 0) process.stdout.write(`issues: ${count} files moved\n`);
      },
    });
    const { moved, failed } = await move.run(target);
    for (const line of failed) process.stderr.write(`issues: not moved: ${line}\n`);
    process.stdout.write(`issues: ${moved} files moved to ${name}\n`);
    return failed.length === 0 ? 0 : 1;
  } finally {
    await main.close();
  }
}

process.exitCode = await runCommandLine(
  {
    name: 'node dist/move-attachments.js',
    help,
    options: { to: { type: 'string' } },
    run: ({ to }) => moveTo(to),
  },
  process.argv.slice(2),
);
