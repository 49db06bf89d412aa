import { type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Fault } from '../fake-tracker.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { type Delivery, deliver } from './delivery.ts';
import { attempt, type Operation, type TrackerRequest, type TrackerResponse } from './exchange.ts';
import type { Faults } from './faults.ts';
import { type Recording, record } from './recording.ts';

/** The HTTP API of one tracker. */
export interface Protocol {
  /** Without a trailing slash. */
  readonly basePath: string;
  readonly routes: readonly Route[];
  /** Rewrites an alias of another URL (path and query); undefined for other URLs. */
  readonly alias?: (url: string) => string | undefined;
  /** Headers of every response that is not a fault, names in lower case. */
  readonly headers?: () => OutgoingHttpHeaders;
  /** Responds to an unknown path. */
  readonly notFound: Operation;
  /** Responds to a body that cannot be parsed. */
  readonly malformed: Operation;
}

export type Route = readonly ['get' | 'post' | 'put' | 'patch' | 'delete', path: string, Operation];

export interface AppParts {
  readonly protocol: Protocol;
  readonly tracker: Tracker;
  readonly faults: Faults;
  readonly requests: Recording[];
  /** Aborted when the server stops. */
  readonly outage: () => AbortSignal;
}

/** Records a request, parses it, applies a fault and processes it, in this order. */
export function createProtocolApp({ protocol, tracker, faults, requests, outage }: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');

  const handlerFor =
    (operation: Operation): RequestHandler =>
    async (request, response) => {
      const delivery: Delivery = response.locals.delivery;
      const call = requestOf(request, delivery.recording);
      const run = (): TrackerResponse => attempt(operation, call);
      const result = delivery.fault?.kind === 'silent_drop' ? tracker.rollBack(run) : run();
      await deliver({ ...result, headers: { ...protocol.headers?.(), ...result.headers } }, delivery);
    };

  app.use((request, response, next) => {
    const recording = record(request);
    requests.push(recording);
    response.locals.delivery = { response, recording, fault: undefined, outage: outage() };
    request.url = protocol.alias?.(request.url) ?? request.url;
    next();
  });
  app.use(express.json({ limit: '10mb' }), express.urlencoded({ extended: false, limit: '10mb' }));
  app.use(async (request, response, next) => {
    const delivery: Delivery = response.locals.delivery;
    delivery.recording.body = request.body;
    const fault = faults.take(delivery.recording);
    response.locals.delivery = { ...delivery, fault };
    if (fault === undefined || (await continues(fault, delivery))) next();
  });
  for (const [method, path, operation] of protocol.routes)
    app[method](protocol.basePath + path, handlerFor(operation));
  app.use(handlerFor(protocol.notFound));
  app.use(failed(handlerFor(protocol.malformed)));
  return app;
}

/** Whether the request is processed after the fault. */
async function continues(fault: Fault, delivery: Delivery): Promise<boolean> {
  switch (fault.kind) {
    case 'latency':
      await (fault.until ?? delay(fault.ms ?? 1_000, undefined, { signal: delivery.outage }));
      return true;
    case 'reset_before':
      delivery.response.socket?.destroy();
      return false;
    case 'status': {
      const status = fault.status ?? 500;
      const body = 'body' in fault ? fault.body : { message: STATUS_CODES[status] ?? 'Error' };
      await deliver({ status, headers: { ...fault.headers }, body }, delivery);
      return false;
    }
    default:
      return true;
  }
}

function failed(malformed: RequestHandler): ErrorRequestHandler {
  return (error, request, response, next) => {
    const delivery: Delivery = response.locals.delivery;
    // The server was stopped meanwhile, so the socket is closed.
    if (delivery.outage.aborted) return undefined;
    // Errors of Express itself (an invalid body or path) have a 4xx status.
    if (error.status >= 400 && error.status < 500) return malformed(request, response, next);
    // A bug in the fake: report it in full.
    return void deliver({ status: 500, body: { fake_error: String(error?.stack ?? error) } }, delivery);
  };
}

function requestOf(request: Request, { method, path, query, body }: Recording): TrackerRequest {
  const params = Object.entries(request.params).map(([name, value]) => [name, String(value)]);
  return { method, path, query, body, params: Object.fromEntries(params), headers: request.headers };
}
