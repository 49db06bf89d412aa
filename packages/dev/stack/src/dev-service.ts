import { runCommand } from './command.ts';
import { runDevService } from './dev/dev-service-process.ts';
import { repositoryRoot } from './repository-root.ts';
import { SERVICES } from './services/services.ts';

const service = SERVICES.find(({ name }) => name === process.argv[2]);
if (service === undefined) {
  process.stderr.write(`Usage: dev-service.ts ${SERVICES.map(({ name }) => name).join('|')}\n`);
  process.exitCode = 2;
} else {
  process.exitCode = await runCommand((context) =>
    runDevService(service, { rootDir: repositoryRoot, ...context }),
  );
}
