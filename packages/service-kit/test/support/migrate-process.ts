// A migrator process, as each replica of a service starts one.
import { migrate } from '../../src/database/migrate.ts';

const applied = await migrate(JSON.parse(process.argv[2] ?? '{}'));
process.stdout.write(`${JSON.stringify(applied)}\n`);
