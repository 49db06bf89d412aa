import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { shellBlock } from '../src/code-blocks.ts';
import { rootDir } from '../src/repository.ts';
import { FakeCluster } from './support/fake-cluster.ts';

// Each command of a block is a process.
jest.setTimeout(30_000);

let cluster: FakeCluster;
beforeEach(() => {
  cluster = new FakeCluster();
});
afterEach(() => cluster.remove());

const functions = shellBlock('docs/operations/runbooks.md', 'Functions for Kubernetes', 0);
const paste = (...blocks: string[]) => cluster.run([functions, ...blocks].join('\n'));
const called = (part: string) => cluster.calls.filter((call) => call.includes(part));
const verbOf = (call: string) => call.replace('--namespace tessera ', '').split(' ')[0];

describe('docs/operations/kubernetes.md deploys', () => {
  it('to a cluster, with secrets of a file', async () => {
    copyFileSync(join(rootDir, 'k8s/examples/secrets.yaml'), join(cluster.folder, 'my-secrets.yaml'));
    await cluster.run(shellBlock('docs/operations/kubernetes.md', 'Deploy', 0));
    expect(cluster.state.objects).toEqual(
      expect.arrayContaining(['namespace/tessera', 'deployment/identity', 'cronjob/issues-backup']),
    );
  });

  it('locally, with generated secrets', async () => {
    await cluster.run(`${shellBlock('docs/operations/kubernetes.md', 'Deploy', 1)}\nwait`);
    expect(cluster.state.objects).toEqual(
      expect.arrayContaining(['secret/identity-keys', 'secret/issues-secrets', 'service/issues']),
    );
    expect(called('port-forward')).toHaveLength(2);
  });

  it('and creates an administrator with a random password, which is printed if identity accepts it', async () => {
    const requests: { token: unknown; url: unknown; body: unknown }[] = [];
    const statuses = [201, 409];
    const identity = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = JSON.parse(Buffer.concat(chunks).toString());
      requests.push({ token: request.headers['x-service-token'], url: request.url, body });
      response.writeHead(statuses.shift() ?? 500).end('{"id":"1"}');
    }).listen(0, '127.0.0.1');
    await once(identity, 'listening');
    try {
      const { port } = identity.address() as AddressInfo;
      cluster.deploy();
      writeFileSync(join(cluster.folder, 'service-token'), 'the token\n');
      cluster.set({ environment: { IDENTITY_URL: `http://127.0.0.1:${port}` } });
      const create = () =>
        cluster.run(shellBlock('docs/operations/kubernetes.md', 'The first administrator', 0));
      const [, password] = /^201 \{"id":"1"\}\nOne-time password: (\w{24})$/m.exec(await create()) ?? [];
      const rights = { is_verified: true, is_staff: true, is_superuser: true };
      const admin = { email: 'admin@example.com', password_is_temporary: true, ...rights };
      expect(requests).toEqual([
        { token: 'the token', url: '/internal/identities', body: { ...admin, password } },
      ]);
      const failure = await create().catch(String);
      expect(failure).toContain('409 {"id":"1"}');
      expect(failure).not.toMatch(/^One-time password/m);
    } finally {
      identity.close();
    }
  });
});

describe('the runbook upgrades', () => {
  it('with new migration Jobs, before the rollout', async () => {
    cluster.deploy();
    await paste(shellBlock('docs/operations/upgrade.md', 'On Kubernetes', 0));
    expect(cluster.calls.map(verbOf).filter((verb) => verb === 'delete' || verb === 'apply')).toEqual([
      'delete',
      'apply',
      'apply',
    ]);
    expect(called('rollout status')).toHaveLength(2);
  });

  it('and leaves the running release as it is when a migration fails', async () => {
    cluster.deploy();
    cluster.set({ condition: 'Failed' });
    await paste(shellBlock('docs/operations/upgrade.md', 'On Kubernetes', 0)).catch(() => undefined);
    expect(called('logs --selector job-name=identity-migrate')).toHaveLength(1);
    expect(called('apply')).toHaveLength(1);
  });

  it('and rolls back', async () => {
    cluster.deploy();
    await paste(shellBlock('docs/operations/upgrade.md', 'Roll back', 0));
    expect(called('rollout undo deployment/identity')).toHaveLength(1);
  });
});

describe('the runbook rotates', () => {
  describe('the service token', () => {
    const begin = shellBlock('docs/operations/rotate.md', 'Rotate the service token', 0);
    const end = shellBlock('docs/operations/rotate.md', 'Rotate the service token', 1);
    const tokensOf = (service: string) => {
      const secret = cluster.state.secrets[`secret/${service}-secrets`];
      return [secret?.['service-token'], secret?.['service-token-previous']];
    };

    it('both services know both tokens, then only the new one', async () => {
      cluster.deploy();
      await paste(begin);
      const [next] = tokensOf('identity');
      expect(next).toMatch(/^[\w+/]{43}=$/);
      for (const service of ['identity', 'issues']) expect(tokensOf(service)).toEqual([next, 'CHANGE-ME']);
      await paste(end);
      for (const service of ['identity', 'issues']) expect(tokensOf(service)).toEqual([next, '']);
      expect(called('rollout status')).toHaveLength(4);
    });

    it('continues with the same tokens after an interruption', async () => {
      cluster.deploy();
      const interrupted = begin.replace('for service in identity issues', 'for service in identity');
      await paste(interrupted);
      const tokens = tokensOf('identity');
      await paste(begin);
      for (const service of ['identity', 'issues']) expect(tokensOf(service)).toEqual(tokens);
      expect(tokens[1]).toBe('CHANGE-ME');
    });

    it('is not changed if the Secrets cannot be read', async () => {
      // As in an interactive shell, which continues after an error.
      await paste('set +euo pipefail', begin, end).catch(() => undefined);
      expect(called('get secret').length).toBeGreaterThan(0);
      expect(called('patch')).toEqual([]);
    });
  });

  describe('the session keys', () => {
    const begin = shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 0);
    const current = () => cluster.state.secrets['secret/issues-secrets']?.['session-keys'];
    const lists = () => cluster.calls.flatMap((call) => /"session-keys":"(.*?)"/.exec(call)?.[1] ?? []);

    it('the new one is added last, then first, and later the others are removed', async () => {
      cluster.deploy();
      await paste(begin);
      const [next = ''] = current()?.split(',') ?? [];
      expect(lists()).toEqual([`CHANGE-ME,${next}`, `${next},CHANGE-ME`]);
      await paste(shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 1));
      expect(current()).toBe(next);
      expect(called('rollout status deployment/issues')).toHaveLength(3);
    });

    it('all are replaced after a leak, and the sessions end', async () => {
      cluster.deploy();
      await paste(shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 2));
      expect(current()).toMatch(/^[\w+/]{43}=$/);
      const { SESSIONS_VALID_AFTER: time = '' } = cluster.state.configMaps['configmap/identity'] ?? {};
      expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000);
      expect(called('rollout restart deployment/identity')).toHaveLength(1);
    });
  });
});

describe('the runbook backs up and restores', () => {
  const backUp = shellBlock('docs/operations/backup.md', 'On Kubernetes', 0);
  const restore = shellBlock('docs/operations/backup.md', 'On Kubernetes', 1);

  it.each(['identity', 'issues'])('%s', async (service) => {
    cluster.deploy();
    const blocks = `${backUp}\n${restore}`;
    await paste(
      blocks.replace('SERVICE=identity', `SERVICE=${service}`).replace('SERVICE= ', `SERVICE=${service} `),
    );
    const steps = cluster.calls.map((call) => call.replace('--namespace tessera ', ''));
    const index = (start: string) => steps.findIndex((step) => step.startsWith(start));
    expect(steps[0]).toMatch(
      new RegExp(`^create job ${service}-backup-\\d{8}-\\d{6} --from=cronjob/${service}-backup$`),
    );
    const order = [
      `delete job ${service}-restore --ignore-not-found --cascade=foreground`,
      `delete horizontalpodautoscaler ${service}`,
      `scale deployment/${service} --replicas=0`,
      `get pods --selector app.kubernetes.io/name=${service},`,
      ...(service === 'identity' ? ['patch configmap identity'] : []),
      `set env cronjob/${service}-restore BACKUP_FILE=`,
      `create job ${service}-restore --from=cronjob/${service}-restore`,
      `logs --selector job-name=${service}-restore`,
      'delete job identity-migrate issues-migrate',
      'apply --kustomize k8s/overlays/production',
      `scale deployment/${service} --replicas=2`,
    ].map(index);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
    expect(called('SESSIONS_VALID_AFTER')).toHaveLength(service === 'identity' ? 1 : 0);
    expect(cluster.state.objects).toContain(`horizontalpodautoscaler/${service}`);
    expect(cluster.state.objects).toContain(`job/${service}-migrate`);
  });

  it('and does not wait for a Job that does not exist', async () => {
    cluster.deploy();
    await expect(paste('finished issues-missing')).rejects.toThrow('job/issues-missing not found');
  });

  it('and stops when the restore fails', async () => {
    cluster.deploy();
    cluster.set({ condition: 'Failed' });
    await expect(paste(restore.replace('SERVICE=', 'SERVICE=identity'))).rejects.toThrow();
    expect(called('apply')).toEqual([]);
    expect(called('--replicas=2')).toEqual([]);
  });
});
