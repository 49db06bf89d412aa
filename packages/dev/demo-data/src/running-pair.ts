import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** Where a pair that `pnpm start` or `pnpm dev` runs can be reached. */
export interface RunningPair {
  identityUrl: string;
  issuesUrl: string;
  serviceToken: string;
  /** Its owner's, which may also VACUUM. Undefined where the issues service uses a database that is not the embedded one. */
  issuesDatabaseUrl: string | undefined;
}

const runSchema = z.object({
  postgresPort: z.int().optional(),
  services: z.array(z.object({ name: z.string(), url: z.string() })),
});

/** Reads the launcher's data folder; throws with words for a person where nothing runs there. */
export function findRunningPair(dataDir: string): RunningPair {
  const { services, postgresPort } = readRun(dataDir);
  const urlOf = (name: string) => {
    const service = services.find((candidate) => candidate.name === name);
    if (service === undefined) throw new Error(`${name} is not running: start it with npx pnpm@12 start`);
    return service.url;
  };
  const read = (name: string) => readFileSync(join(dataDir, name), 'utf8').trim();
  return {
    identityUrl: urlOf('identity'),
    issuesUrl: urlOf('issues'),
    serviceToken: process.env.SERVICE_TOKEN ?? read('service-token'),
    issuesDatabaseUrl:
      postgresPort === undefined
        ? undefined
        : `postgresql://issues_owner:${encodeURIComponent(read('issues-database-owner.password'))}@127.0.0.1:${postgresPort}/issues`,
  };
}

function readRun(dataDir: string): z.output<typeof runSchema> {
  try {
    return runSchema.parse(JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')));
  } catch {
    throw new Error(
      `Nothing runs on ${dataDir}: start it with npx pnpm@12 start, or name its folder with --data-dir`,
    );
  }
}
