import { migrate } from '@tessera/service-kit/migrate';
import { loadDatabaseUrl } from './config.ts';
import { prismaDir } from './readiness.repository.ts';

try {
  const applied = await migrate({ connectionString: loadDatabaseUrl(), prismaDir });
  process.stdout.write(
    applied.length === 0 ? 'identity: no migration to apply\n' : `identity: applied ${applied.join(', ')}\n`,
  );
} catch (error) {
  process.stderr.write(`identity: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
