import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClientSettings, RelyingParty } from '../relying-party.ts';

const packages = [
  'apache2',
  'libapache2-mod-auth-openidc',
  'python3-authlib',
  'python3-flask',
  'python3-requests',
  'golang-go',
  'golang-github-coreos-go-oidc-dev',
];

/** Whether Debian's applications are installed (packages/dev/web-test/install-applications.sh), and this process is root, as Apache needs. */
export function canRunDebianApps(): boolean {
  return process.getuid?.() === 0 && spawnSync('dpkg', ['-s', ...packages]).status === 0;
}

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const common = {
  callbackPath: '/callback',
  signInPath: '/login',
  signOutPath: '/logout',
  signsOutEverywhere: true,
  refreshes: true,
};
const variablesOf = ({ issuer, clientId, clientSecret, baseUrl }: ClientSettings) => ({
  ISSUER: issuer,
  CLIENT_ID: clientId,
  CLIENT_SECRET: clientSecret,
  BASE_URL: baseUrl,
  PORT: new URL(baseUrl).port,
});

/** Debian's mod_auth_openidc, certified by the OpenID Foundation. */
export const modAuthOpenidc: RelyingParty = {
  ...common,
  name: 'mod_auth_openidc',
  command: (settings) => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-apache-'));
    // Apache gives up root.
    chmodSync(folder, 0o755);
    const files = {
      user: `<!--#if expr="-n reqenv('OIDC_CLAIM_email')" -->{"email":"<!--#echo var="OIDC_CLAIM_email" -->"}<!--#else -->{}<!--#endif -->`,
      login:
        '<!doctype html><html lang=en><title>Helpdesk</title><meta http-equiv=refresh content="0;url=/user">',
      'index.html': '<!doctype html><html lang=en><title>Helpdesk</title><h1>Helpdesk</h1>',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return {
      file: '/usr/sbin/apache2',
      parameters: ['-f', fileOf('mod-auth-openidc.conf'), '-D', 'FOREGROUND'],
      variables: {
        ...variablesOf(settings),
        FOLDER: folder,
        PASSPHRASE: randomBytes(32).toString('hex'),
        HOME_ENCODED: encodeURIComponent(`${settings.baseUrl}/`),
      },
      folder,
    };
  },
};

export const authlib: RelyingParty = {
  ...common,
  name: 'Authlib',
  command: (settings) => ({
    // Not the Python that comes first in the search path: Debian's has Debian's packages.
    file: '/usr/bin/python3',
    parameters: [fileOf('flask-app.py')],
    variables: variablesOf(settings),
  }),
};

export const goOidc: RelyingParty = {
  ...common,
  name: 'go-oidc',
  command: (settings) => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-go-'));
    const file = join(folder, 'app');
    const environment = {
      PATH: '/usr/bin:/bin',
      GOPATH: '/usr/share/gocode',
      GO111MODULE: 'off',
      GOCACHE: join(folder, 'cache'),
      GOFLAGS: '-p=1',
    };
    const built = spawnSync('go', ['build', '-o', file, fileOf('go-oidc.go')], {
      env: environment,
      encoding: 'utf8',
    });
    if (built.status !== 0) throw new Error(`go build: ${built.stderr}`);
    return { file, parameters: [], variables: variablesOf(settings), folder };
  },
};
