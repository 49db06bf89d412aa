import { describe, expect, it } from '@jest/globals';
import express from 'express';
import supertest from 'supertest';
import { answerUnconditionally } from '../src/index.ts';

describe('answerUnconditionally', () => {
  it.each(['*', '"1"', 'W/"1"'])('answers in full to If-None-Match: %s, without an ETag', async (etag) => {
    const app = express();
    answerUnconditionally(app);
    app.get('/', (_request, response) => response.json({ whole: true }));
    const { body, headers } = await supertest(app).get('/').set('If-None-Match', etag).expect(200);
    expect(body).toEqual({ whole: true });
    expect(headers).not.toHaveProperty('etag');
  });
});
