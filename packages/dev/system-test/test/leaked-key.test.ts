import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shellBlock } from '@tessera/delivery/code-blocks';
import { httpClient, type Stack, startStack } from '@tessera/stack';
import { FakeKubectl } from './support/fake-kubectl.ts';

const functions = shellBlock('k8s/README.md', 'Rotate the signing key', 0);
const leaked = shellBlock('k8s/README.md', 'A key has leaked', 0);
const password = 'a password of the runbook';

let stack: Stack;
let kubectl: FakeKubectl;
beforeAll(async () => {
  stack = await startStack();
  kubectl = new FakeKubectl(stack);
  await kubectl.start();
}, 60_000);
afterAll(async () => {
  kubectl.stop();
  await stack.stop();
}, 60_000);

async function signIn(): Promise<() => Promise<number[]>> {
  const email = 'ann@example.com';
  await stack.internal.post('/internal/identities', { email, password });
  const { data } = await httpClient(stack.urls.identity).post('/token', {
    grant_type: 'password',
    email,
    password,
  });
  const headers = { Authorization: `Bearer ${data.access_token}` };
  return async () => [
    (await httpClient(stack.urls.identity, { headers }).get('/userinfo')).status,
    (await httpClient(stack.urls.issues, { headers }).get('/api/v1/issues/')).status,
  ];
}

const publishedKids = async () => {
  const { data } = await httpClient(stack.urls.identity).get('/jwks');
  return data.keys.map(({ kid }: { kid: string }) => kid);
};

describe("the README's steps for a leaked key", () => {
  it('replace the key of a fresh installation, and show that it is refused', async () => {
    const statuses = await signIn();
    expect(await statuses()).toEqual([200, 200]);
    const { code, output } = await kubectl.run(functions + leaked);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('identity-key-1: refused') });
    expect(await publishedKids()).toEqual(['identity-key-2']);
    expect(await statuses()).toEqual([401, 401]);
  }, 120_000);

  it('stop at the first error; replace every key after a rotation, also one that is not used yet', async () => {
    const rotated = await kubectl.run(
      `${functions}\nset -e; keys next; keys activate --at-once; roll_out identity`,
    );
    expect(rotated.code).toBe(0);
    expect(await publishedKids()).toEqual(['identity-key-2', 'identity-key-3']);
    expect((await kubectl.run(`${functions}\nkeys retire nothing`)).code).toBe(1);
    const early = leaked.replace('keys activate --at-once', 'keys activate');
    const failed = await kubectl.run(`${functions}\n${early}`);
    expect(failed.code).not.toBe(0);
    expect(failed.output).toContain('Too early to activate identity-key-4');
    expect(failed.output).not.toContain('refused');
    const { code, output } = await kubectl.run(functions + leaked);
    expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
    for (const number of [2, 3, 4]) expect(output).toContain(`identity-key-${number}: refused`);
    expect(await publishedKids()).toEqual(['identity-key-5']);
  }, 120_000);
});
