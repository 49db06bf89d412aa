import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateIssue } from '../src/demo/issue-generator.ts';
import { fillThroughApi } from '../src/demo/through-api.ts';
import { randomNumbers } from '../src/random.ts';

describe('generateIssue', () => {
  it('generates the same issues for the same seed and different ones for another', () => {
    const invent = (seed: number) => generateIssue(randomNumbers(seed));
    expect(invent(1)).toEqual(invent(1));
    expect(invent(1)).not.toEqual(invent(2));
  });

  it('generates issues that the API accepts', () => {
    const random = randomNumbers(7);
    for (let count = 0; count < 500; count += 1) {
      const { title, description } = generateIssue(random);
      expect(title.length).toBeGreaterThan(5);
      expect(title.length).toBeLessThanOrEqual(255);
      expect(title).not.toMatch(/[\n\r]/);
      expect(description.length).toBeLessThanOrEqual(65_000);
    }
  });
});

describe('the command', () => {
  it('exits 2 for a database URL that is none, and names the option', () => {
    const demo = fileURLToPath(new URL('../src/demo.ts', import.meta.url));
    const options = ['--import', 'tsx', '--conditions=@tessera/source', demo, '--database-url', 'foo'];
    const { status, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      2,
      'demo: --database-url must be a postgresql:// URL. See "npx pnpm@12 demo --help".\n',
    ]);
  });
});

describe('fillThroughApi', () => {
  let stop = () => {};
  afterEach(() => stop());

  /** Both services in one server: the users exist, and creations get the given statuses in turn. */
  async function serve(statuses: number[]) {
    const creations: { body: string; key: unknown }[] = [];
    const server = createServer(async (request, response) => {
      const body = (await request.toArray()).join('');
      const isCreation = request.url === '/api/v1/issues/';
      if (isCreation) creations.push({ body, key: request.headers['idempotency-key'] });
      const exists = request.url === '/internal/identities' ? 409 : 200;
      const status = isCreation ? (statuses.shift() ?? 500) : exists;
      response.writeHead(status, { 'Retry-After': '0' });
      response.end(
        JSON.stringify({ access_token: 'a', refresh_token: 'r', expires_in: 900, id: '1', key: 'ISS-1' }),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    stop = () => server.close();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { creations, target: { identityUrl: url, issuesUrl: url, serviceToken: 'secret' } };
  }

  it('waits for Retry-After and repeats a creation after a 429, with people who exist', async () => {
    // More than the client repeats by default.
    const { creations, target } = await serve([...Array<number>(8).fill(429), 201]);
    await fillThroughApi(target, 1);
    expect(creations).toHaveLength(9);
    expect(new Set(creations.map((creation) => JSON.stringify(creation))).size).toBe(1);
    expect(creations[0]?.key).toEqual(expect.any(String));
  });

  it('throws other errors', async () => {
    const { creations, target } = await serve([422]);
    await expect(fillThroughApi(target, 1)).rejects.toThrow('422');
    expect(creations).toHaveLength(1);
  });
});
