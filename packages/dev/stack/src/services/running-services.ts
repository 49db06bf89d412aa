import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRunRecord } from '../data-folder/run-record.ts';
import { StackError } from '../stack-error.ts';

/** The addresses and credentials of the services that `start` or `dev` runs. */
export interface RunningServices {
  identityUrl: string;
  issuesUrl: string;
  serviceToken: string;
  /** The URL of the database's owner, who may also run VACUUM. Undefined when issues uses an external database. */
  issuesDatabaseUrl: string | undefined;
}

/**
 * @param serviceToken the token to use instead of the data folder's
 * @throws StackError when no service runs on the data folder
 */
export function findRunningServices(dataDir: string, serviceToken?: string): RunningServices {
  const record = readRunRecord(join(dataDir, 'run.json'));
  if (record === undefined) {
    throw new StackError(
      `Nothing runs on ${dataDir}: start it with npx pnpm@12 start, or name its folder with --data-dir`,
    );
  }
  const urlOf = (name: string) => {
    const service = record.services.find((candidate) => candidate.name === name);
    if (service === undefined)
      throw new StackError(`${name} is not running: start it with npx pnpm@12 start`);
    return service.url;
  };
  const read = (name: string) => readFileSync(join(dataDir, name), 'utf8').trim();
  return {
    identityUrl: urlOf('identity'),
    issuesUrl: urlOf('issues'),
    serviceToken: serviceToken ?? read('service-token'),
    issuesDatabaseUrl:
      record.postgresPort === undefined
        ? undefined
        : `postgresql://issues_owner:${encodeURIComponent(read('issues-database-owner.password'))}@127.0.0.1:${record.postgresPort}/issues`,
  };
}
