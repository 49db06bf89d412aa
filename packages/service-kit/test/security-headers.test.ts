import { describe, expect, it } from '@jest/globals';
import { documentRoute, headersSetBy, prepareDocument, securityHeaders } from '../src/index.ts';
import { getRoute, startApp } from './support/test-app.ts';

const prepared = prepareDocument({}, { 'Cross-Origin-Resource-Policy': 'cross-origin' });

function clientOf(hsts: boolean) {
  const routes = [getRoute('/'), documentRoute({ method: 'GET', path: '/document' }, prepared)];
  return startApp(routes, { security: { hsts } }).client;
}

describe('securityHeaders', () => {
  it('tells browsers not to run, load, frame or sniff a response, nor to send a referrer', async () => {
    const { headers } = await clientOf(false).get('/');
    expect(headers).toMatchObject({
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    expect(headers).not.toHaveProperty('x-powered-by');
  });

  it('is sent with errors too', async () => {
    expect((await clientOf(false).get('/nothing')).headers['x-content-type-options']).toBe('nosniff');
  });

  it('requires https for a year when the public URL is https, and otherwise not', async () => {
    expect((await clientOf(true).get('/')).headers['strict-transport-security']).toMatch(
      /^max-age=31536000\b/,
    );
    expect((await clientOf(false).get('/')).headers).not.toHaveProperty('strict-transport-security');
  });

  it('can be overridden by a document that other origins may embed', async () => {
    const { headers } = await clientOf(false).get('/document');
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin');
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  it('returns the headers that are sent with every response', async () => {
    const { headers } = await clientOf(true).get('/');
    const values = securityHeaders({ hsts: true });
    expect(values.size).toBeGreaterThan(5);
    for (const [name, value] of values) expect(headers[name]).toBe(value);
  });

  it('takes the resource policy from its options', () => {
    const values = securityHeaders({ hsts: false, resourcePolicy: 'cross-origin' });
    expect(values.get('cross-origin-resource-policy')).toBe('cross-origin');
  });
});

describe('headersSetBy', () => {
  it('joins the headers of several handlers', () => {
    const values = headersSetBy(
      (_request, response, next) => {
        response.setHeader('X-First', 'one');
        next();
      },
      (_request, response, next) => {
        response.setHeader('Vary', 'Origin');
        next();
      },
    );
    expect([...values]).toEqual([
      ['x-first', 'one'],
      ['vary', 'Origin'],
    ]);
  });

  it('throws the error that a handler passes on', () => {
    expect(() => headersSetBy((_request, _response, next) => next(new Error('broken')))).toThrow('broken');
  });
});
