import { describe, expect, it } from '@jest/globals';
import { documentRoute, everyone, prepareBytes, prepareDocument } from '../src/index.ts';
import { startApp } from './support/test-app.ts';

const content = { keys: ['é', 1] };
const prepared = prepareDocument(content, { 'Cache-Control': 'public, max-age=300' });

const access = { ...everyone, headers: { 'Cache-Control': 'no-store' } };
const { client } = startApp([documentRoute({ method: 'GET', path: '/document' }, prepared, access)]);

describe('a prepared document', () => {
  it('is sent with its headers, which override those set before', async () => {
    const response = await client.get('/document');
    expect(response.status).toBe(200);
    expect(response.body).toEqual(content);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(JSON.stringify(content))),
      'cache-control': 'public, max-age=300',
      etag: prepared.etag,
    });
  });

  it('answers HEAD with the same headers and no body', async () => {
    const [get, head] = [await client.get('/document'), await client.head('/document')];
    for (const name of ['content-type', 'content-length', 'cache-control', 'etag']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
    expect(head.text).toBeUndefined();
  });

  it.each([[prepared.etag], [`W/${prepared.etag}`], [`"other", W/"another" , ${prepared.etag}`], ['*']])(
    'is a 304 for If-None-Match: %s',
    async (header) => {
      const response = await client.get('/document').set('If-None-Match', header);
      expect(response.status).toBe(304);
      expect(response.text).toBe('');
      expect(response.headers).toMatchObject({ etag: prepared.etag, 'cache-control': 'public, max-age=300' });
      expect(response.headers['content-type']).toBeUndefined();
    },
  );

  it.each([['"other"'], [prepared.etag.replaceAll('"', '')], ['']])(
    'is a 200 for If-None-Match: %s',
    async (header) => {
      expect((await client.get('/document').set('If-None-Match', header)).status).toBe(200);
    },
  );

  it('has an ETag that depends only on its bytes', () => {
    expect(prepareDocument({ keys: ['é', 2] }).etag).not.toBe(prepared.etag);
    expect(prepareBytes(Buffer.from(JSON.stringify(content)), 'text/plain').etag).toBe(prepared.etag);
  });
});
