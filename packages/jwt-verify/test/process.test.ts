import { describe, expect, it } from '@jest/globals';
import { jwkOf, keyPair } from './support/context.ts';
import { startJwksServer } from './support/jwks-server.ts';
import { runScript } from './support/run-script.ts';

describe('a process', () => {
  it('has the hash of a verified token in memory, but neither the token nor its signature', async () => {
    const { output, errors } = await runScript('heap-search.ts');
    expect(errors).toBe('');
    expect(JSON.parse(output)).toEqual({ fingerprintInHeap: true, tokenInHeap: false });
  });

  it('exits although its keys are kept fresh and the server keeps its connection', async () => {
    const server = await startJwksServer();
    try {
      server.publish([jwkOf(keyPair.publicKey)], { 'Cache-Control': 'max-age=10', Connection: 'keep-alive' });
      const { code, output } = await runScript('fetch-and-end.ts', `${server.url}/jwks`);
      expect({ code, output }).toEqual({ code: 0, output: 'ready' });
    } finally {
      await server.close();
    }
  });
});
