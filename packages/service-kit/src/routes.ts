import type { Express, RequestHandler } from 'express';
import { match } from 'path-to-regexp';
import { ProblemError } from './problem.ts';

/** One route as it was declared: an upper-case method and the path template. */
export interface Route {
  method: string;
  path: string;
}

interface RouterLayer {
  route?: { path: string | string[]; methods?: Record<string, boolean> } | undefined;
  handle?: object | undefined;
}

/**
 * Every route of an app, in order. Routers write their full paths and are mounted without a prefix, which is
 * what makes the HTTP surface readable here and in the source.
 */
export function listRoutes(app: Express): Route[] {
  return routesOf(app.router.stack);
}

function routesOf(layers: readonly RouterLayer[]): Route[] {
  return layers.flatMap(({ route, handle }) => {
    if (route === undefined) return routesOf(nestedLayers(handle));
    // `_all` is how Express marks `.all()`: a guard in front of routes rather than a route.
    const methods = Object.keys(route.methods ?? {}).filter((method) => method !== '_all');
    return [route.path]
      .flat()
      .flatMap((path) => methods.map((method) => ({ method: method.toUpperCase(), path })));
  });
}

function nestedLayers(handle: object | undefined): readonly RouterLayer[] {
  return handle !== undefined && 'stack' in handle && Array.isArray(handle.stack) ? handle.stack : [];
}

/**
 * The end of the chain: 405 with `Allow` where the path exists for another method, else 404. OPTIONS is answered
 * with `Allow`, as Express does for the routes of a nested router.
 */
export function refuseUnknownRoute(app: Express, further: readonly Route[] = []): RequestHandler {
  const routes = [...listRoutes(app), ...further].map((route) => ({
    method: route.method,
    matches: match(route.path, { sensitive: false, decode: false }),
  }));
  return (request, response) => {
    const found = routes.filter((route) => route.matches(request.path) !== false);
    if (found.length === 0) {
      throw new ProblemError({ status: 404, code: 'not_found', detail: 'There is nothing at this path.' });
    }
    const methods = new Set(found.map((route) => route.method));
    if (methods.has('GET')) methods.add('HEAD');
    const headers = { Allow: [...methods].sort().join(', ') };
    if (request.method === 'OPTIONS') {
      response.status(204).set(headers).end();
      return;
    }
    throw new ProblemError({
      status: 405,
      code: 'method_not_allowed',
      detail: `This path does not answer ${request.method}.`,
      headers,
    });
  };
}
