import { runCommand } from '../../src/command.ts';
import { runDevService } from '../../src/dev/dev-service-process.ts';
import { SERVICES } from '../../src/services/services.ts';

const [, , rootDir = ''] = process.argv;
process.exitCode = await runCommand((context) => runDevService(SERVICES[0], { rootDir, ...context }));
