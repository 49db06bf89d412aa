import { createServer } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import supertest from 'supertest';
import {
  answerDirectly,
  bodyRead,
  type DirectRoute,
  errorHandler,
  originOf,
  ProblemError,
  raiseFailure,
  readBody,
  sendAnswer,
} from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';

const answerWith =
  (body: unknown): DirectRoute['answer'] =>
  async (_request, response) =>
    sendAnswer(response, { status: 200, headers: {}, body: JSON.stringify(body) });

const route = (changes: Partial<DirectRoute> = {}): DirectRoute => ({
  method: 'GET',
  path: '/things/:id',
  target: /^\/things\/[a-z]+$/,
  headers: new Map([['X-Protection', 'on']]),
  variesByOrigin: true,
  answer: answerWith('direct'),
  ...changes,
});

function clientOf(routes: DirectRoute[], trustProxy: number | boolean = false) {
  const app = express();
  app.set('trust proxy', trustProxy);
  app.use(raiseFailure);
  app.all('/things/:id', (request, response) => {
    response.json(`express, ${request.route.path}`);
  });
  app.use(errorHandler({ logger: keepLogLines().logger }));
  return supertest(createServer(answerDirectly(app, routes)));
}

describe('a direct route', () => {
  it('is answered with its headers, without the app', async () => {
    const response = await clientOf([route()]).get('/things/a').expect(200);
    expect(response.body).toBe('direct');
    expect(response.headers).toMatchObject({ 'x-protection': 'on', 'cache-control': 'no-store' });
  });

  it.each([
    ['another method', 'delete', '/things/a', {}],
    ['HEAD', 'head', '/things/a', {}],
    ['another spelling', 'get', '/Things/a', {}],
    ['a query it does not name', 'get', '/things/a?b=c', {}],
    ['a page of another origin', 'get', '/things/a', { Origin: 'https://app.test' }],
  ] as const)('leaves %s to the app', async (_name, method, path, headers) => {
    const response = await clientOf([route()])[method](path).set(headers).expect(200);
    expect(response.headers).not.toHaveProperty('x-protection');
    if (method !== 'head') expect(response.body).toBe('express, /things/:id');
  });

  it('answers a page of another origin where answers do not differ', async () => {
    const client = clientOf([route({ variesByOrigin: false })]);
    expect((await client.get('/things/a').set('Origin', 'https://app.test')).body).toBe('direct');
  });

  const problem = new ProblemError({ status: 409, code: 'busy', detail: 'Later.' });
  it.each([
    ['rejects', () => Promise.reject(problem)],
    [
      'throws',
      () => {
        throw problem;
      },
    ],
  ])('that %s is answered by the error handler, with its headers', async (_name, answer) => {
    const response = await clientOf([route({ answer })])
      .get('/things/a')
      .expect(409);
    expect(response.body).toMatchObject({ code: 'busy', detail: 'Later.' });
    expect(response.headers['x-protection']).toBe('on');
  });

  it('reads bodies as the app does, and knows the client as the app does', async () => {
    const body = readBody({ limitBytes: 100 });
    const answer: DirectRoute['answer'] = async (request, response) => {
      await bodyRead(body, request, response);
      await answerWith([request.body, originOf(request).ip])(request, response);
    };
    const client = clientOf([route({ method: 'POST', answer })], 1);
    const forwarded = { 'X-Forwarded-For': '192.0.2.1, 198.51.100.7' };
    expect((await client.post('/things/a').set(forwarded).send({ a: 1 }).expect(200)).body).toEqual([
      { a: 1 },
      '198.51.100.7',
    ]);
    await client
      .post('/things/a')
      .send({ a: 'x'.repeat(100) })
      .expect(413);
    await client.post('/things/a').type('text/plain').send('a').expect(415);
  });
});
