import type { Operation } from '@tessera/contracts';
import supertest from 'supertest';
import { z } from 'zod';
import { createApp, everyone, type Handler, type Route, route } from '../../src/index.ts';
import { keepLogLines } from './log-lines.ts';

type AppOptions = Parameters<typeof createApp>[0];

const anyJson = {
  id: 'test',
  method: 'GET',
  summary: 'Test',
  tags: [],
  responses: { 200: { description: 'Any JSON.', schema: z.unknown() } },
} as const satisfies Omit<Operation, 'path'>;

/** An operation for a test: GET with any JSON as its 200, unless given. */
export function testOperation<const Given extends Partial<Operation> & { readonly path: string }>(
  given: Given,
): Omit<typeof anyJson, keyof Given> & Given {
  return { ...anyJson, ...given };
}

/** A public GET route that answers any JSON. */
export function getRoute(
  path: string,
  handler: Handler<typeof anyJson & { readonly path: string }> = () => ({ status: 200, body: {} }),
): Route {
  return route({ ...anyJson, path }, { access: everyone }, handler);
}

/** An app of these routes, created as in both services, with its client and its log. */
export function startApp(routes: readonly Route[], options: Partial<AppOptions> = {}) {
  const log = keepLogLines();
  const app = createApp({
    routes,
    logger: log.logger,
    trustProxy: false,
    security: { hsts: false },
    ...options,
  });
  const accessLines = () => log.lines.filter((line) => line.msg === 'request');
  return { app, client: supertest(app), log, accessLines };
}
