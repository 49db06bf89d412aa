import type { DataFolder } from '../data-folder/data-folder.ts';
import type { StackEnvironment } from '../environment.ts';
import type { RunningPostgres } from '../postgres/server.ts';
import type { Service } from '../services/services.ts';
import { tourOf } from './tour.ts';

interface BannerFacts {
  readonly services: readonly Service[];
  readonly environment: StackEnvironment;
  readonly folder: DataFolder;
  readonly server: RunningPostgres | undefined;
}

/** The text that `start` prints when everything runs. It contains no secrets. */
export function bannerOf({ services, environment, folder, server }: BannerFacts): string {
  const rows = services.map(({ name }) => [name, `http://localhost:${environment.ports[name]}`]);
  const hasWebApp = services.some(({ name }) => name === 'issues');
  if (hasWebApp && !['off', 'false', '0'].includes(environment.passedOn.WEB_APP ?? ''))
    rows.push(['web app', `http://localhost:${environment.ports.issues}/issues`]);
  if (server !== undefined) rows.push(['database', `PostgreSQL 18 on 127.0.0.1:${server.port}`]);
  rows.push(['data', folder.root]);
  if (server !== undefined && server.folder !== folder.postgres) {
    rows.push([
      '',
      `database files: ${server.folder} (PostgreSQL must not run as root and cannot enter the folder above)`,
    ]);
  }
  rows.push(['logs', folder.logs]);
  const names = services.map(({ name }) => name);
  const tour = tourOf(names, { environment, serviceTokenFile: folder.serviceTokenFile });
  return [
    '',
    'Tessera is running. Ctrl-C stops it.',
    '',
    ...rows.map(([name, value]) => `  ${name?.padEnd(10)}${value}`),
    '',
    ...(tour === '' ? [] : ['A tour, to paste into another terminal:', '', tour, '']),
  ].join('\n');
}
