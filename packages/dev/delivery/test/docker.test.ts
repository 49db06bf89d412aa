import { describe, expect, it } from '@jest/globals';
import { findComposeProblems } from '../src/compose.ts';
import { findDockerfileProblems } from '../src/dockerfile.ts';
import { readRepositoryFile } from '../src/repository.ts';

/** A text in which one thing was replaced; throws where it was not there. */
function spoil(text: string, from: string | RegExp, to: string): string {
  const spoilt = text.replace(from, to);
  if (spoilt === text) throw new Error(`There is no ${from}.`);
  return spoilt;
}

describe('the Dockerfile', () => {
  const text = readRepositoryFile('docker/Dockerfile');

  it('is right', () => {
    expect(findDockerfileProblems(text)).toEqual([]);
  });

  it.each([
    ['an unknown instruction', 'WORKDIR /service', 'WORKDRI /service', /Unknown instruction: WORKDRI/],
    ['an unknown flag', 'COPY --from=built', 'COPY --form=built', /form/],
    ['a name as user', 'USER 1000:1000', 'USER node', /numbered user/],
    ['root', 'USER 1000:1000', 'USER 0:0', /numbered user/],
    ['no user', 'USER 1000:1000', '', /numbered user/],
    ['a command for a shell', 'CMD ["dist/server.js"]', 'CMD node dist/server.js', /CMD is not in exec form/],
    [
      'an entry point for a shell',
      'ENTRYPOINT ["node"]',
      'ENTRYPOINT node',
      /ENTRYPOINT is not in exec form/,
    ],
    ['no healthcheck', /^HEALTHCHECK.*\n.*$/m, '', /HEALTHCHECK is missing/],
    ['no labels', /^LABEL (.*\\\n)+.*$/m, '', /no labels/],
    ['a base that moves', 'node:24-bookworm-slim\n', 'node:latest\n', /not fixed/],
    ['a secret', 'ENV NODE_ENV', 'ENV SERVICE_TOKEN=x NODE_ENV', /secret stays/],
    ['ADD', 'COPY . .', 'ADD . .', /ADD fetches/],
  ])('would be refused with %s', (_name, from, to, said) => {
    expect(findDockerfileProblems(spoil(text, from, to)).join('\n')).toMatch(said);
  });
});

describe('the compose file', () => {
  const text = readRepositoryFile('docker/compose.yaml');

  it('is right', () => {
    expect(findComposeProblems(text)).toEqual([]);
  });

  it.each([
    ['an unknown key', 'stop_grace_period: 30s', 'stop_grace: 30s', /identity.*invalid-schema/],
    ['a wrong type', 'interval: 2s', 'interval: [2]', /interval/],
    ['a writable root', 'read_only: true', 'read_only: false', /can write to its root/],
    ['capabilities', /cap_drop: \[ALL\]/, 'cap_drop: [NET_RAW]', /keeps capabilities/],
    ['privileges to gain', /no-new-privileges:true/, 'no-new-privileges:false', /may gain privileges/],
    ['root', 'user: "1000:1000"', 'user: "0:0"', /runs as 0:0/],
    ['a port for everybody', '127.0.0.1:${IDENTITY_PORT', '${IDENTITY_PORT', /open to other machines/],
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
      'an image that moves',
      '{POSTGRES_IMAGE:-postgres:18-bookworm}',
      '{POSTGRES_IMAGE:-postgres:latest}',
      /no fixed image|tag/,
    ],
  ])('would be refused with %s', (_name, from, to, said) => {
    expect(findComposeProblems(spoil(text, from, to)).join('\n')).toMatch(said);
  });
});
