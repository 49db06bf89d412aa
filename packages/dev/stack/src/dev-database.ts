import { runCommand } from './command.ts';
import { runDevDatabase } from './dev/dev-database.ts';
import { repositoryRoot } from './repository-root.ts';

process.exitCode = await runCommand((context) => runDevDatabase(repositoryRoot, context));
