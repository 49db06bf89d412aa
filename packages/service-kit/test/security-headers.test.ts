import { describe, expect, it } from '@jest/globals';
import express from 'express';
import supertest from 'supertest';
import { headersSetBy, prepareDocument, securityHeaders, sendPreparedDocument } from '../src/index.ts';

const prepared = prepareDocument({}, { 'Cross-Origin-Resource-Policy': 'cross-origin' });

function clientOf(hsts: boolean) {
  const app = express();
  app.use(securityHeaders({ hsts }));
  app.get('/', (_request, response) => void response.json({}));
  app.get('/document', (request, response) => sendPreparedDocument(request, response, prepared));
  return supertest(app);
}

describe('securityHeaders', () => {
  it('forbids a browser to run, load, frame, sniff or refer from any answer', async () => {
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

  it('stands on errors too', async () => {
    expect((await clientOf(false).get('/nothing')).headers['x-content-type-options']).toBe('nosniff');
  });

  it('asks for https for a year where the public URL is https, and never elsewhere', async () => {
    expect((await clientOf(true).get('/')).headers['strict-transport-security']).toMatch(
      /^max-age=31536000\b/,
    );
    expect((await clientOf(false).get('/')).headers).not.toHaveProperty('strict-transport-security');
  });

  it('lets a document open itself to other origins', async () => {
    const { headers } = await clientOf(false).get('/document');
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin');
    expect(headers['x-content-type-options']).toBe('nosniff');
  });
});

describe('headersSetBy', () => {
  it('are the headers of the middleware, for answers that are given before it', async () => {
    const { headers } = await clientOf(true).get('/');
    const values = headersSetBy(securityHeaders({ hsts: true }));
    expect(values.size).toBeGreaterThan(5);
    for (const [name, value] of values) expect(headers[name]).toBe(value);
  });

  it('joins what several handlers set', () => {
    const values = headersSetBy(
      securityHeaders({ hsts: false, resourcePolicy: 'cross-origin' }),
      (_request, response, next) => {
        response.setHeader('Vary', 'Origin');
        next();
      },
    );
    expect(values.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(values.get('vary')).toBe('Origin');
  });
});
