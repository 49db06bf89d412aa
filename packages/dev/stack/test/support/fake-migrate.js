// A fake of a built migrator. It records its environment in a file beside itself.
import { writeFileSync } from 'node:fs';

writeFileSync(new URL('./migration-environment.json', import.meta.url), JSON.stringify(process.env));
if (process.env.FAKE_MIGRATE === 'broken') {
  process.stderr.write('The migration 0001_init failed: syntax error\n');
  process.exit(1);
}
if (!process.env.DATABASE_URL) process.exit(1);
