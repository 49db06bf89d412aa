import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { shellBlock } from '../src/code-blocks.ts';
import { run } from '../src/command.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';
import { workloadsOf } from '../src/workload.ts';
import { FakePrograms } from './support/fake-programs.ts';

let programs: FakePrograms;
beforeEach(() => {
  programs = new FakePrograms();
});
afterEach(() => programs.remove());

describe('the tag of the images', () => {
  it('is "local" in compose, in the base and in the local overlay', () => {
    expect(readRepositoryFile('docker/compose.yaml')).toMatch(
      /image: tessera\/issues:\$\{TESSERA_VERSION:-local\}/,
    );
    for (const { pod } of workloadsOf(renderKustomization(join(rootDir, 'k8s/overlays/local'))))
      for (const { image } of pod.containers)
        expect(image).toMatch(/^tessera\/(identity|issues):local$|^postgres:/);
  });

  describe('after the block of docker/README.md', () => {
    const overlay = 'k8s/overlays/production';
    const block = shellBlock('docker/README.md', 'The image', 0);
    const release = (shell: string) => programs.runIn(shell, `export REGISTRY=eu.example.com/team\n${block}`);
    const git = async (...args: string[]) =>
      (
        await run('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
          cwd: programs.folder,
        })
      ).trim();
    const called = (program: string) => programs.calls.filter((call) => call.startsWith(program));

    beforeEach(async () => {
      for (const part of ['base', 'components', 'overlays'])
        cpSync(join(rootDir, 'k8s', part), join(programs.folder, 'k8s', part), { recursive: true });
      programs.add('docker');
      writeFileSync(join(programs.folder, '.gitignore'), 'bin\ncalls\n');
      await git('init', '--quiet');
      await git('add', '.');
      await git('commit', '--quiet', '--message', 'A release');
    });

    it('is the commit in the production overlay', async () => {
      await release('sh');
      const tag = await git('rev-parse', '--short=12', 'HEAD');
      const name = (app: string) => `eu.example.com/team/tessera/${app}:${tag}`;
      expect(called('docker')).toEqual([
        'docker compose --file docker/compose.yaml build',
        ...['identity', 'issues'].flatMap((app) => [
          `docker tag tessera/${app}:${tag} ${name(app)}`,
          `docker push ${name(app)}`,
        ]),
      ]);
      const images = workloadsOf(renderKustomization(join(programs.folder, overlay))).flatMap(({ pod }) =>
        pod.containers.map(({ image }) => image),
      );
      // The backups use the image of the server.
      const built = images.filter((image) => !image.startsWith('postgres:'));
      expect(new Set(built)).toEqual(new Set([name('identity'), name('issues')]));
      // The next release starts with the overlay of this one.
      await release('sh');
    });

    it('builds with the tag, the revision and the time of the commit, and exports nothing', async () => {
      programs.add('docker', 'echo "$1 $TESSERA_VERSION $TESSERA_REVISION $SOURCE_DATE_EPOCH"');
      const output = await programs.runIn('sh', `${block}\necho "left: \${TESSERA_VERSION-} \${REGISTRY-}"`);
      const [tag, revision, time] = (await git('log', '-1', '--abbrev=12', '--format=%h %H %ct')).split(' ');
      expect(output).toContain(`compose ${tag} ${revision} ${time}\n`);
      expect(output).toMatch(/^left: {2}$/m);
    });

    it.each(['compose', 'tag', 'push'])(
      'stops if docker %s fails, and leaves the overlay as it is',
      async (step) => {
        programs.add('docker', `[ "$1" != ${step} ]`);
        await expect(release('sh')).rejects.toThrow();
        expect(called('docker').at(-1)).toContain(`docker ${step} `);
        expect(called(`docker ${step}`)).toHaveLength(1);
        expect(await git('status', '--porcelain')).toBe('');
      },
    );

    it.each(['k8s/base/kustomization.yaml', 'new-file'])('refuses a changed work tree: %s', async (file) => {
      writeFileSync(join(programs.folder, file), '# changed');
      await expect(release('sh')).rejects.toThrow(
        new RegExp(`Not released: the work tree differs from its commit:\\n.. ${file}\\n`),
      );
      expect(called('docker')).toEqual([]);
    });
  });
});

describe('docker/README.md', () => {
  const service = (call = '') => /--file (\S+) (up|exec)/.exec(call)?.slice(1);

  it('starts the compose project', async () => {
    programs.add('docker');
    await programs.run(shellBlock('docker/README.md', 'Images and compose', 0));
    expect(programs.calls.map(service)).toEqual([['docker/compose.yaml', 'up']]);
    expect(existsSync(join(rootDir, 'docker/compose.yaml'))).toBe(true);
  });

  const upgradeSteps = [
    'build',
    'run --rm --no-deps identity-migrate',
    'run --rm --no-deps issues-migrate',
    'up --wait identity',
    'up --wait',
  ].map((step) => `docker compose --file docker/compose.yaml ${step}`);

  it('upgrades the compose project', async () => {
    // A program that reads its input would take the commands that are pasted after the block.
    programs.add('docker', 'cat');
    const block = shellBlock('docker/README.md', 'Upgrade', 0);
    expect(await programs.runIn('sh', `${block}\necho the next command`)).toBe('the next command\n');
    expect(programs.calls).toEqual(upgradeSteps);
  });

  it.each([1, 2, 3, 4])('stops if step %d of the upgrade fails', async (failing) => {
    programs.add('docker', `[ "$(wc -l < "${programs.folder}/calls")" -lt ${failing} ]`);
    await expect(programs.runIn('sh', shellBlock('docker/README.md', 'Upgrade', 0))).rejects.toThrow();
    expect(programs.calls).toEqual(upgradeSteps.slice(0, failing));
  });

  it('reads the service token in the container', async () => {
    writeFileSync(join(programs.folder, 'service-token'), 'a token of 32 characters\n');
    // Runs what follows the name of the service, on this machine.
    const here = `sed 's#/run/secrets/tessera#${programs.folder}#'`;
    programs.add('docker', `shift 6; "$1" "$2" "$(printf %s "$3" | ${here})"`);
    await programs.run(shellBlock('docker/README.md', 'Images and compose', 1));
    expect(programs.calls.map(service)).toEqual([['docker/compose.yaml', 'exec']]);
    expect(programs.read('.data/service-token').trim()).toBe('a token of 32 characters');
  });
});

it("docs/operations/kubernetes.md gets the service token of the tour from the cluster's Secret", async () => {
  programs.add('kubectl', `printf ${Buffer.from('a token of 32 characters').toString('base64')}`);
  await programs.run(shellBlock('docs/operations/kubernetes.md', 'Deploy', 2));
  expect(programs.read('.data/service-token')).toBe('a token of 32 characters');
  expect(programs.calls).toEqual([
    'kubectl --namespace tessera get secret identity-secrets --output jsonpath={.data.service-token}',
  ]);
});

describe.each([
  {
    from: 'docker/README.md',
    program: 'docker',
    block: shellBlock('docker/README.md', 'Images and compose', 1),
  },
  {
    from: 'docs/operations/kubernetes.md',
    program: 'kubectl',
    block: shellBlock('docs/operations/kubernetes.md', 'Deploy', 2),
  },
])('the block of $from that reads the service token', ({ program, block }) => {
  const present = () => join(programs.folder, '.data/service-token');

  it.each(['sh', 'bash'])('creates a file that only its owner can read in %s', async (shell) => {
    programs.add(program, 'printf VE9LRU4=');
    await programs.runIn(shell, block);
    expect(statSync(present()).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(programs.folder, '.data'))).toEqual(['service-token']);
  });

  it.each(['sh', 'bash'])('keeps the present file in %s if the command fails', async (shell) => {
    mkdirSync(join(programs.folder, '.data'));
    writeFileSync(present(), 'the present token');
    programs.add(program, 'echo "service is not running" >&2; exit 1');
    await expect(programs.runIn(shell, block)).rejects.toThrow('service is not running');
    expect(programs.read('.data/service-token')).toBe('the present token');
    expect(readdirSync(join(programs.folder, '.data'))).toEqual(['service-token']);
  });
});

it("docs/operations/kubernetes.md installs the repository's chart into the namespace", async () => {
  for (const program of ['kubectl', 'helm']) programs.add(program);
  await programs.run(shellBlock('docs/operations/kubernetes.md', 'Helm', 0));
  expect(programs.calls).toEqual([
    'kubectl label --overwrite namespace tessera pod-security.kubernetes.io/enforce=restricted',
    'helm upgrade --install tessera k8s/helm --namespace tessera --values my-values.yaml --wait --wait-for-jobs',
  ]);
});

describe('the commands of the README and of CONTRIBUTING', () => {
  const scripts = Object.keys(JSON.parse(readRepositoryFile('package.json')).scripts);

  it('are scripts of the repository', async () => {
    programs.add('npx');
    programs.add('sudo');
    await programs.run(shellBlock('README.md', 'Start', 0));
    expect(programs.calls).toEqual(['npx pnpm@12 start', 'npx pnpm@12 test']);
    await programs.run(shellBlock('CONTRIBUTING.md', 'Commands', 0));
    for (const call of programs.calls) {
      const [program, ...args] = call.split(' ');
      if (program === 'npx')
        expect([args[0], scripts]).toEqual([
          'pnpm@12',
          expect.arrayContaining(args.slice(1).filter((arg) => arg !== 'run')),
        ]);
      else expect([args.length, existsSync(join(rootDir, args[0] ?? ''))]).toEqual([1, true]);
    }
  });

  it('are those of CI', () => {
    const ci = readRepositoryFile('.ci/run');
    expect(ci).toContain('pnpm() { npx --yes pnpm@12 "$@"; }');
    expect(ci).toMatch(/^pnpm test /m);
    expect(ci.match(/install-\w+\.sh/g)).toEqual(
      shellBlock('CONTRIBUTING.md', 'Commands', 0).match(/install-\w+\.sh/g),
    );
  });
});
