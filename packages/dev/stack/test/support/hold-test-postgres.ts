import { startTestPostgres } from '../../src/postgres.ts';

// Lasts until its standard input ends, and stops nothing.
const { adminUrl } = await startTestPostgres();
process.stdout.write(`${adminUrl}\n`);
process.stdin.resume();
