import { type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Fault } from '../fake-tracker.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { type Delivery, deliver } from './delivery.ts';
import { type Answer, attempt, type Call, type Operation } from './exchange.ts';
import type { Faults } from './faults.ts';
import { type Recording, record } from './recording.ts';

/** What makes a tracker's HTTP surface its own. */
export interface Protocol {
  /** Ends without a slash. */
  readonly basePath: string;
  readonly routes: readonly Route[];
  /** An address that is sent as a redirect-free alias of another (path and query), or undefined. */
  readonly alias?: (url: string) => string | undefined;
  /** Sent with every answer that no fault made up, names in lower case. */
  readonly headers?: () => OutgoingHttpHeaders;
  /** Answers a path that is none of the routes. */
  readonly notFound: Operation;
  /** Answers a body that cannot be read as the media type it claims. */
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

/** The order a request goes through: recorded, read, met by a fault, carried out. */
export function createProtocolApp({ protocol, tracker, faults, requests, outage }: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');

  const answering =
    (operation: Operation): RequestHandler =>
    async (request, response) => {
      const delivery: Delivery = response.locals.delivery;
      const call = callOf(request, delivery.recording);
      const run = (): Answer => attempt(operation, call);
      const answer = delivery.fault?.kind === 'silent_drop' ? tracker.undone(run) : run();
      await deliver({ ...answer, headers: { ...protocol.headers?.(), ...answer.headers } }, delivery);
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
    if (fault === undefined || (await goesOn(fault, delivery))) next();
  });
  for (const [method, path, operation] of protocol.routes)
    app[method](protocol.basePath + path, answering(operation));
  app.use(answering(protocol.notFound));
  app.use(failed(answering(protocol.malformed)));
  return app;
}

/** Whether the request is still to be carried out after its fault. */
async function goesOn(fault: Fault, delivery: Delivery): Promise<boolean> {
  switch (fault.kind) {
    case 'latency':
      await delay(fault.ms ?? 1_000, undefined, { signal: delivery.outage });
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
    // The server was stopped while this request waited: its socket is gone.
    if (delivery.outage.aborted) return undefined;
    // What express refuses of its own accord (an unreadable body or path) carries a 4xx.
    if (error.status >= 400 && error.status < 500) return malformed(request, response, next);
    // A mistake in the fake itself: as loud as it can be.
    return void deliver({ status: 500, body: { stand_in_error: String(error?.stack ?? error) } }, delivery);
  };
}

function callOf(request: Request, { method, path, query, body }: Recording): Call {
  const params = Object.entries(request.params).map(([name, value]) => [name, String(value)]);
  return { method, path, query, body, params: Object.fromEntries(params), headers: request.headers };
}
