// Stands in for a built migrator.
if (process.env.FAKE_MIGRATE === 'broken') {
  process.stderr.write('The migration 0001_init failed: syntax error\n');
  process.exit(1);
}
if (!process.env.DATABASE_URL) process.exit(1);
