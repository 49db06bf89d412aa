import { startTestPostgres } from '../../src/postgres.ts';

// Runs until its standard input ends, and does not stop the server.
const { adminUrl } = await startTestPostgres();
process.stdout.write(`${adminUrl}\n`);
process.stdin.resume();
