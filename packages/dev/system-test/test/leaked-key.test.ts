import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shellBlock } from '@tessera/delivery/code-blocks';
import { httpClient, type Stack, startStack } from '@tessera/stack';
import jwt from 'jsonwebtoken';
import { signUp } from './support/clients.ts';
import { FakeKubectl } from './support/fake-kubectl.ts';

const functions = shellBlock('docs/operations/runbooks.md', 'Functions for Kubernetes', 0);
const rotation = shellBlock('docs/operations/rotate.md', 'Rotate the signing key', 0);
const leaked = shellBlock('docs/operations/rotate.md', 'A key has leaked', 0);

let stack: Stack;
let kubectl: FakeKubectl;
let token: string;
beforeAll(async () => {
  // The proof on a cluster has one audience, as a string. The forged tokens must have the list, too.
  const environment = { JWT_AUDIENCE: 'tessera, other' };
  stack = await startStack({ environment: { identity: environment, issues: environment } });
  kubectl = new FakeKubectl(stack, environment);
  await kubectl.start();
  token = (await signUp(stack, 'ann')).access_token;
});
afterAll(async () => {
  await kubectl.stop();
  await stack.stop();
});

/** The answers of both services to a token. */
async function statusesOf(accessToken: string): Promise<number[]> {
  const headers = { Authorization: `Bearer ${accessToken}` };
  return [
    (await httpClient(stack.urls.identity, { headers }).get('/userinfo')).status,
    (await httpClient(stack.urls.issues, { headers }).get('/api/v1/issues/')).status,
  ];
}

/** Copies a key as a thief does. Returns a function that forges a new token of a superuser with it. */
function steal(kid: string): () => string {
  const pem = readFileSync(join(stack.keys.directory, `${kid}.pem`), 'utf8');
  return () => {
    const { iat: _, exp: __, jti = '', ...claims } = jwt.decode(token, { json: true }) ?? {};
    // Its first 32 bits are the session epoch of the user.
    const forged = {
      ...claims,
      jti: jti.slice(0, 15) + randomUUID().slice(15),
      is_staff: true,
      is_superuser: true,
    };
    const header = { alg: 'RS256', typ: 'at+jwt' };
    return jwt.sign(forged, pem, { algorithm: 'RS256', keyid: kid, header, expiresIn: 300 });
  };
}

const publishedKids = async () => {
  const { data } = await httpClient(stack.urls.identity).get('/jwks');
  return data.keys.map(({ kid }: { kid: string }) => kid);
};

describe("the runbook's steps for a leaked key", () => {
  it('fail while the key is trusted', async () => {
    const withoutSteps = `${functions}\nkeys() { :; }\nroll_out() { :; }\n${leaked}`;
    const { code, output } = await kubectl.run(withoutSteps);
    expect(code).not.toBe(0);
    expect(output).toContain('identity-key-1 is in the key set');
  });

  it('fail while identity, or else issues, accepts a token of the key', async () => {
    const withoutSteps = `${functions}\nkeys() { :; }\nroll_out() { :; }\nend_sessions() { :; }\n${leaked}`;
    const unpublished = withoutSteps.replace(/.* is in the key set.*\n/, '');
    expect((await kubectl.run(unpublished)).output).toContain(
      '/userinfo answered 200 to a token of identity-key-1',
    );
    const { output } = await kubectl.run(unpublished.replace(/`\${identity}\/userinfo`, /, ''));
    expect(output).toContain('/api/v1/issues/ answered 200 to a token of identity-key-1');
  });

  it('replace the key of a fresh installation, and show that it is refused', async () => {
    const forge = steal('identity-key-1');
    expect([await statusesOf(token), await statusesOf(forge())]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    const processes = stack.issues.map(({ pid }) => pid);
    const { code, output } = await kubectl.run(functions + leaked);
    expect(stack.issues.map(({ pid }) => pid)).toEqual(processes);
    // Both forged tokens are of the same user: only the key was replaced in between.
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/identity-key-1: accepted\n.*identity-key-1: refused\n/s),
    });
    expect(await publishedKids()).toEqual(['identity-key-2']);
    expect([await statusesOf(token), await statusesOf(forge())]).toEqual([
      [401, 401],
      [401, 401],
    ]);
  });

  it('stop at the first error; replace every key after a rotation, also one that is not used yet', async () => {
    const rotated = await kubectl.run(
      `${functions}\nset -e; keys next; keys activate --at-once; roll_out identity`,
    );
    expect(rotated.code).toBe(0);
    expect(await publishedKids()).toEqual(['identity-key-2', 'identity-key-3']);
    const thefts = ['identity-key-2', 'identity-key-3'].map(steal);
    for (const forge of thefts) expect(await statusesOf(forge())).toEqual([200, 200]);
    expect((await kubectl.run(`${functions}\nkeys retire nothing`)).code).toBe(1);
    const early = leaked.replace('keys activate --at-once', 'keys activate');
    const failed = await kubectl.run(`${functions}\n${early}`);
    expect(failed.code).not.toBe(0);
    expect(failed.output).toContain('Too early to activate identity-key-4');
    expect(failed.output).not.toContain('refused');
    const { code, output } = await kubectl.run(functions + leaked);
    expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
    for (const number of [2, 3]) expect(output).toContain(`identity-key-${number}: accepted`);
    for (const number of [2, 3, 4]) expect(output).toContain(`identity-key-${number}: refused`);
    expect(await publishedKids()).toEqual(['identity-key-5']);
    for (const forge of thefts) expect(await statusesOf(forge())).toEqual([401, 401]);
  });
});

describe("the runbook's rotation", () => {
  it('keeps sessions, with the waiting times that it says', async () => {
    const identity = httpClient(stack.urls.identity);
    let session = await signUp(stack, 'bea');
    const [old] = await publishedKids();
    const published = [];
    // A line is pasted after the time in its comment. The command refuses a step that is too early.
    for (const line of rotation.replaceAll('identity-key-1', old).trim().split('\n')) {
      const [, time = '0', unit] = /# (\d+) (minutes|days) later/.exec(line) ?? [];
      kubectl.passTime(Number(time) * (unit === 'days' ? 24 * 60 : 1));
      const { code, output } = await kubectl.run(`${functions}\n${line}`);
      expect({ line, code, output }).toEqual({ line, code: 0, output: expect.any(String) });
      const { refresh_token } = session;
      session = (await identity.post('/token/refresh', { refresh_token })).data;
      expect(await statusesOf(session.access_token)).toEqual([200, 200]);
      published.push(await publishedKids());
    }
    const [kids = []] = published;
    expect(kids).toHaveLength(2);
    const next = kids.slice(1);
    expect(published).toEqual([kids, kids, kids, next, next]);
  });
});
