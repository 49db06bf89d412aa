import { runCommand } from '../../src/command.ts';
import { runDevDatabase } from '../../src/dev/dev-database.ts';

const [, , rootDir = ''] = process.argv;
process.exitCode = await runCommand((context) => runDevDatabase(rootDir, context));
