import { repositoryRoot } from './repository-root.ts';
import { runStartCommand } from './start/start-command.ts';

process.exitCode = await runStartCommand(process.argv.slice(2), repositoryRoot);
