import type { DataFolder } from '../data-folder/data-folder.ts';
import type { StackEnvironment } from '../environment.ts';
import type { RunningPostgres } from '../postgres/server.ts';
import type { Service } from '../services/services.ts';
import type { FirstAccount } from './first-administrator.ts';
import { quoteForShell, tourOf } from './tour.ts';

interface BannerFacts {
  readonly services: readonly Service[];
  readonly environment: StackEnvironment;
  readonly folder: DataFolder;
  readonly server: RunningPostgres | undefined;
  /** Undefined without the web app. */
  readonly account: FirstAccount | undefined;
  readonly withTour: boolean;
}

/** Whether issues serves the web app. */
export function hasWebApp(services: readonly Service[], { passedOn }: StackEnvironment): boolean {
  const isOff = ['off', 'false', '0'].includes(passedOn.WEB_APP ?? '');
  return !isOff && services.some(({ name }) => name === 'issues');
}

/** The text that `start` prints when everything runs. The one-time password of a new account is its only secret, and at its end. */
export function bannerOf(facts: BannerFacts): string {
  const { services, environment, folder, server, account, withTour } = facts;
  const rows = services.map(({ name }) => [name, `http://localhost:${environment.ports[name]}`]);
  const webApp = `http://localhost:${environment.ports.issues}`;
  if (account !== undefined) rows.push(['web app', `${webApp}/issues`]);
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
  const tour = withTour ? tourOf(names, { environment, serviceTokenFile: folder.serviceTokenFile }) : '';
  return [
    '',
    'Tessera is running. Ctrl-C stops it.',
    '',
    ...rows.map(([name, value]) => `  ${name?.padEnd(10)}${value}`),
    '',
    ...(tour === '' ? [] : ['A tour, to paste into another terminal:', '', tour, '']),
    // Last, so that it is in sight.
    ...(account === undefined ? [] : [...signInText(account, { webApp, environment, folder }), '']),
  ].join('\n');
}

interface SignInFacts {
  readonly webApp: string;
  readonly environment: StackEnvironment;
  readonly folder: DataFolder;
}

function signInText(
  { email, oneTimePassword }: FirstAccount,
  { webApp, environment, folder }: SignInFacts,
): string[] {
  const where = environment.dataDir === undefined ? '' : ` --data-dir ${quoteForShell(folder.root)}`;
  const reset = `npx pnpm@12 reset-password${where}`;
  if (email === undefined)
    return [`Sign in to the web app with your account. A new password: ${reset} --email ADDRESS`];
  if (oneTimePassword === undefined)
    return [`Sign in to the web app as ${email}. If its password is lost: ${reset}`];
  return [
    `Sign in to the web app as ${email} with the one-time password ${oneTimePassword}`,
    `at ${webApp}/sign-in, and choose another one there. It is printed only now and valid for 24 hours.`,
    `If it is lost or has expired: ${reset}`,
  ];
}
