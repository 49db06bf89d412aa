import { runStartCommand } from '../../src/start/start-command.ts';

const [rootDir = '', ...args] = process.argv.slice(2);
process.exitCode = await runStartCommand(args, rootDir);
