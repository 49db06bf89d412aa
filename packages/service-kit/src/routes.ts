import type { Express, RequestHandler } from 'express';
import { match } from 'path-to-regexp';
import { ProblemError } from './problem.ts';

/** One route as it was declared: an upper-case method and the path template. */
export interface Route {
  method: string;
  path: string;
}

interface RouterLayer {
  route?: { path: string; methods?: Record<string, boolean> } | undefined;
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
  return layers.flatMap((layer) => {
    const { route } = layer;
    if (route === undefined) return routesOf(nestedLayers(layer.handle));
    return Object.keys(route.methods ?? {}).map((method) => ({
      method: method.toUpperCase(),
      path: route.path,
    }));
  });
}

function nestedLayers(handle: object | undefined): readonly RouterLayer[] {
  return handle !== undefined && 'stack' in handle && Array.isArray(handle.stack) ? handle.stack : [];
}

/** The end of the chain: 405 with `Allow` where the path exists for another method, else 404. */
export function refuseUnknownRoute(app: Express, further: readonly Route[] = []): RequestHandler {
  const routes = [...listRoutes(app), ...further].map((route) => ({
    method: route.method,
    matches: match(route.path, { sensitive: false }),
  }));
  return (request) => {
    const found = routes.filter((route) => matchesSafely(route.matches, request.path));
    if (found.length === 0) {
      throw new ProblemError({ status: 404, code: 'not_found', detail: 'There is nothing at this path.' });
    }
    const methods = new Set(found.map((route) => route.method));
    if (methods.has('GET')) methods.add('HEAD');
    throw new ProblemError({
      status: 405,
      code: 'method_not_allowed',
      detail: `This path does not answer ${request.method}.`,
      headers: { Allow: [...methods].sort().join(', ') },
    });
  };
}

function matchesSafely(matches: (path: string) => unknown, path: string): boolean {
  try {
    return matches(path) !== false;
  } catch {
    return true; // A parameter that cannot be decoded: the path template fits all the same.
  }
}
