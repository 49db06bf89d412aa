import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BearerError, extractBearerToken, unverifiedTokenIds } from '../src/index.ts';
import { createJwt, realm } from './support/context.ts';

// A Node server, so that the headers come from Node's parser.
const server = createServer((request, response) => {
  try {
    response.end(JSON.stringify({ token: extractBearerToken(request, realm) }));
  } catch (error) {
    if (!(error instanceof BearerError)) throw error;
    response.end(JSON.stringify({ error: error.name, status: error.status, headers: error.headers }));
  }
});

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
afterAll(() => {
  server.close();
});

function extract(headers: Record<string, string | string[]>, path = '/'): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    sendRequest({ port, path, headers, agent: false }, async (response) => {
      let body = '';
      for await (const chunk of response) body += chunk;
      resolve(JSON.parse(body));
    })
      .once('error', reject)
      .end();
  });
}

const missing = {
  error: 'MissingTokenError',
  status: 401,
  headers: { 'WWW-Authenticate': `Bearer realm="${realm}"` },
};
const malformed = {
  error: 'InvalidRequestError',
  status: 400,
  headers: {
    'WWW-Authenticate': `Bearer realm="${realm}", error="invalid_request", error_description="The Authorization header is malformed."`,
  },
};

describe('the Authorization header', () => {
  const jwt = createJwt();

  it.each([
    ['as in RFC 6750 2.1', `Bearer ${jwt}`, jwt],
    ['in lower case', `bearer ${jwt}`, jwt],
    ['in upper case', `BEARER ${jwt}`, jwt],
    ['with more blanks', `Bearer   ${jwt}  `, jwt],
    ['with every character of token68', 'Bearer aZ09-._~+/==', 'aZ09-._~+/=='],
  ])('contains the token %s', async (_name, value, token) => {
    await expect(extract({ Authorization: value })).resolves.toEqual({ token });
  });

  it.each([
    ['nothing', {}],
    ['an empty one', { Authorization: '' }],
    ['Basic', { Authorization: 'Basic YW5uOnNlY3JldA==' }],
    ['a bare token', { Authorization: jwt }],
    ['a scheme with the same prefix', { Authorization: `Bearer-x ${jwt}` }],
    ['no blank after the scheme', { Authorization: `Bearer${jwt}` }],
    ['DPoP', { Authorization: `DPoP ${jwt}` }],
    ['a proxy credential', { 'Proxy-Authorization': `Bearer ${jwt}` }],
    ['a cookie', { Cookie: `access_token=${jwt}` }],
  ])('causes a challenge without an error code for %s', async (_name, headers) => {
    await expect(extract(headers)).resolves.toEqual(missing);
  });

  it('causes a challenge without an error code when the token is in the query', async () => {
    await expect(extract({}, `/?access_token=${jwt}`)).resolves.toEqual(missing);
  });

  it.each([
    ['the scheme alone', 'Bearer'],
    ['two tokens', 'Bearer a b'],
    ['two joined by a comma', `Bearer ${jwt}, Bearer ${jwt}`],
    ['quotes', `Bearer "${jwt}"`],
    ['a tab instead of a blank', `Bearer\t${jwt}`],
    ['padding inside', 'Bearer a=b'],
    ['only padding', 'Bearer =='],
    ['parameters', 'Bearer token="a"'],
    ['a letter outside ASCII', 'Bearer \u00e9'],
  ])('is an invalid request with %s', async (_name, value) => {
    await expect(extract({ Authorization: value })).resolves.toEqual(malformed);
  });

  it.each([
    ['the same token', [`Bearer ${jwt}`, `Bearer ${jwt}`]],
    ['another token', [`Bearer ${jwt}`, 'Bearer other']],
    ['another scheme after', [`Bearer ${jwt}`, 'Basic YTpi']],
    ['another scheme before', ['Basic YTpi', `Bearer ${jwt}`]],
    ['an empty one', [`Bearer ${jwt}`, '']],
  ])('is an invalid request when repeated, with %s', async (_name, values) => {
    await expect(extract({ Authorization: values })).resolves.toEqual(malformed);
  });
});

describe('unverifiedTokenIds', () => {
  const idsOf = (token: string) =>
    unverifiedTokenIds({ headersDistinct: { authorization: [`Bearer ${token}`] } });

  it('returns kid and jti of a token, valid or not', () => {
    const ids = { kid: 'identity-key-1', jti: '0198a000-0000-7000-8000-000000000001' };
    const token = createJwt({ header: { kid: ids.kid }, claims: { jti: ids.jti, exp: 1 } });
    expect(idsOf(token)).toEqual(ids);
    expect(idsOf(token.replace(/[^.]+$/, 'x'))).toEqual(ids);
  });

  it.each([
    ['two lines', { kid: 'a\nb', jti: 'a\nb' }],
    ['a long text', { kid: 'x'.repeat(65), jti: 'x'.repeat(65) }],
    ['an object', { kid: {}, jti: [1] }],
  ])('leaves out %s', (_name, { kid, jti }) => {
    expect(idsOf(createJwt({ header: { kid }, claims: { jti } }))).toEqual({});
  });

  it.each(['', 'a', 'a.b.c', 'bnVsbA.W10.x', 'e30.e30.e30'])('returns nothing for %j', (token) => {
    expect(idsOf(token)).toEqual({});
    expect(unverifiedTokenIds({ headersDistinct: {} })).toEqual({});
  });
});
