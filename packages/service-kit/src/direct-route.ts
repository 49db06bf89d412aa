import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Express, RequestHandler } from 'express';
import proxyaddr from 'proxy-addr';

declare module 'node:http' {
  interface IncomingMessage {
    /** Why a direct route could not answer; Express tells the client. */
    failure?: unknown;
  }
}

/** Answers in Node's own terms, so that Express and a direct route can share it. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/**
 * A request that is answered without Express, which costs as much as everything else of such a request (packages/dev/bench).
 * The same answer stands in a router too: what is unusual about a request, such as another spelling of its path, goes
 * there.
 */
export interface DirectRoute {
  method: 'GET' | 'POST';
  /** The route's template, as the access log and the metrics know it. */
  path: string;
  /** Matches the whole target of a request in its plain spelling. */
  target: RegExp;
  /** What the middleware before the route would set (`headersSetBy`). */
  headers: Map<string, string>;
  /** Whether answers to pages of other origins differ: then Express gives them. */
  variesByOrigin: boolean;
  answer: NodeHandler;
}

/** Answers direct routes at once, and leaves everything else, and every failure, to the app. */
export function answerDirectly(app: Express, routes: readonly DirectRoute[]): RequestListener {
  const trust: (address: string, hop: number) => boolean = app.get('trust proxy fn');
  return (request, response) => {
    const route = find(routes, request);
    if (route === undefined) {
      app(request, response);
      return;
    }
    const fail = (failure: unknown) => {
      request.failure = failure;
      app(request, response);
    };
    request.route = { path: route.path };
    request.ip = proxyaddr(request, trust);
    response.setHeaders(route.headers);
    try {
      route.answer(request, response)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** What has to happen before an answer, as a middleware of Express. */
export function before(...steps: NodeHandler[]): RequestHandler {
  return async (request, response, next) => {
    for (const step of steps) await step(request, response);
    next();
  };
}

/** Stands first in an app: its error handler tells what a direct route has failed with. */
export const raiseFailure: RequestHandler = (request, _response, next) => next(request.failure);

function find(routes: readonly DirectRoute[], { method, url = '', headers }: IncomingMessage) {
  const route = routes.find((candidate) => candidate.method === method && candidate.target.test(url));
  return route?.variesByOrigin && headers.origin !== undefined ? undefined : route;
}
