import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { findComposeProblems } from '../src/compose.ts';
import { findDockerfileProblems } from '../src/dockerfile.ts';
import { readRepositoryFile } from '../src/repository.ts';

interface Bind {
  source: string;
  target: string;
}

/** Replaces one part of a text. @throws if the text does not contain it */
function replaceOne(text: string, from: string | RegExp, to: string): string {
  const replaced = text.replace(from, to);
  if (replaced === text) throw new Error(`There is no ${from}.`);
  return replaced;
}

describe('the Dockerfile', () => {
  const text = readRepositoryFile('docker/Dockerfile');

  it('has no problems', () => {
    expect(findDockerfileProblems(text)).toEqual([]);
  });

  it.each([
    ['', 1],
    ['nothing', 1],
    ['identity', 0],
    ['issues', 0],
  ])('checks before it copies anything that APP is a service: "%s"', (app, status) => {
    const [, check = ''] = /^ARG APP\nRUN (.*)\nCOPY \. \.$/m.exec(text) ?? [];
    const result = spawnSync('sh', ['-c', check], { env: { ...process.env, APP: app }, encoding: 'utf8' });
    expect([result.status, result.stderr]).toEqual([
      status,
      status === 0 ? '' : 'APP is required: identity or issues\n',
    ]);
  });

  it.each([
    ['an unknown instruction', 'WORKDIR /service', 'WORKDRI /service', /Unknown instruction: WORKDRI/],
    ['an unknown flag', 'COPY --from=built', 'COPY --form=built', /form/],
    ['a name as user', 'USER 1000:1000', 'USER node', /numbered user/],
    ['root', 'USER 1000:1000', 'USER 0:0', /numbered user/],
    ['no user', 'USER 1000:1000', '', /numbered user/],
    ['a shell-form command', 'CMD ["dist/server.js"]', 'CMD node dist/server.js', /CMD is not in exec form/],
    ['a shell-form entry point', 'ENTRYPOINT ["node"]', 'ENTRYPOINT node', /ENTRYPOINT is not in exec form/],
    ['no healthcheck', /^HEALTHCHECK.*\n.*$/m, '', /HEALTHCHECK is missing/],
    ['no labels', /^LABEL (.*\\\n)+.*$/m, '', /no labels/],
    ['a base image without a fixed tag', 'node:24-bookworm-slim\n', 'node:latest\n', /no fixed tag/],
    ['a secret', 'ENV NODE_ENV', 'ENV SERVICE_TOKEN=x NODE_ENV', /contains a secret/],
    ['ADD', 'COPY . .', 'ADD . .', /ADD may download/],
  ])('is rejected with %s', (_name, from, to, message) => {
    expect(findDockerfileProblems(replaceOne(text, from, to)).join('\n')).toMatch(message);
  });
});

describe('the compose file', () => {
  const text = readRepositoryFile('docker/compose.yaml');

  it('verifies the certificate of a database elsewhere in the example with TLS', () => {
    const example = readRepositoryFile('docker/compose.tls.yaml');
    const { services } = parse(example, { logLevel: 'silent', merge: true });
    expect(example).toContain('?sslmode=verify-full&sslrootcert=/run/database/ca.crt');
    expect(Object.keys(services).sort()).toEqual([
      'identity',
      'identity-migrate',
      'issues',
      'issues-migrate',
    ]);
    for (const service of Object.values<{ environment: object; volumes: Bind[] }>(services)) {
      const targets = service.volumes.map(({ target }) => target);
      expect(targets).toContain('/run/database/ca.crt');
      for (const volume of service.volumes)
        expect(volume).toMatchObject({ read_only: true, bind: { create_host_path: false } });
      for (const file of Object.values(service.environment)) expect(targets).toContain(file);
    }
  });

  it('switches the password blocklist on', () => {
    const { services } = parse(text, { merge: true });
    expect(services.identity.environment.PASSWORD_BLOCKLIST).toBe('on');
  });

  it('has no problems', () => {
    expect(findComposeProblems(text)).toEqual([]);
  });

  it.each([
    ['an unknown key', 'stop_grace_period: 30s', 'stop_grace: 30s', /identity.*invalid-schema/],
    ['a wrong type', 'interval: 2s', 'interval: [2]', /interval/],
    ['a writable root', 'read_only: true', 'read_only: false', /has a writable root file system/],
    ['capabilities', /cap_drop: \[ALL\]/, 'cap_drop: [NET_RAW]', /does not drop all capabilities/],
    [
      'privilege escalation',
      /no-new-privileges:true/,
      'no-new-privileges:false',
      /allows privilege escalation/,
    ],
    ['root', 'user: "1000:1000"', 'user: "0:0"', /runs as 0:0/],
    [
      'an unlimited log',
      '    logging: *logging\n    restart',
      '    restart',
      /postgres: has no limit on its log/,
    ],
    ['a public port', '127.0.0.1:${IDENTITY_PORT', '${IDENTITY_PORT', /publishes a port to other machines/],
    [
      'a secret in the environment',
      'SERVICE_TOKEN_FILE: /run/secrets/tessera/service-token',
      'SERVICE_TOKEN: x',
      /secret in its environment/,
    ],
    [
      "the owner's password for the service",
      'identity-secrets:/run/secrets/tessera:ro',
      'identity-owner-secrets:/run/secrets/tessera:ro',
      /owner's password/,
    ],
    [
      'an image without a fixed tag',
      '{POSTGRES_IMAGE:-postgres:18-bookworm}',
      '{POSTGRES_IMAGE:-postgres:latest}',
      /no fixed image|tag/,
    ],
  ])('is rejected with %s', (_name, from, to, message) => {
    expect(findComposeProblems(replaceOne(text, from, to)).join('\n')).toMatch(message);
  });
});
