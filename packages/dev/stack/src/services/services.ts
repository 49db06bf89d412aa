import { existsSync } from 'node:fs';
import path from 'node:path';

/** The services, in the order in which they start. */
export const SERVICES = [
  {
    name: 'identity',
    portVariable: 'IDENTITY_PORT',
    defaultPort: 3001,
    databaseVariable: 'IDENTITY_DATABASE_URL',
  },
  { name: 'issues', portVariable: 'ISSUES_PORT', defaultPort: 3002, databaseVariable: 'ISSUES_DATABASE_URL' },
] as const;

export type Service = (typeof SERVICES)[number];
export type ServiceName = Service['name'];

/** The services in this checkout. */
export function findServices(rootDir: string): Service[] {
  return SERVICES.filter(({ name }) => existsSync(path.join(rootDir, 'apps', name, 'package.json')));
}
