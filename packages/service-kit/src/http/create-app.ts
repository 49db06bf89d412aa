import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { match } from 'path-to-regexp';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type ErrorHandlerOptions, errorHandler } from './error-handler.ts';
import { type PreparedDocument, sendPreparedDocument } from './prepared-document.ts';
import { ProblemError, problemsUrlOf, problemsUrlSetting } from './problem.ts';
import { clientAddress, requestContext } from './request-context.ts';
import { type Access, everyone, type Guard, guard, type Route } from './route.ts';
import {
  type ConnectHandler,
  fixedHeadersSetting,
  headersSetBy,
  type SecurityHeaderOptions,
  securityHeaders,
} from './security-headers.ts';

/** An Express app. */
export type App = Express;

interface AppOptions extends ErrorHandlerOptions {
  /** All routes, the most frequent ones first: Express tries them in order. */
  routes: readonly Route[];
  /**
   * Guards by path prefix. They authenticate and count requests that match no route, before these get a 404, or a 405 if
   * the path's routes have the guard's access rule.
   */
  guards?: Readonly<Record<string, Guard>>;
  logger: Logger;
  metrics?: Metrics;
  /** Express's `trust proxy`. */
  trustProxy: number | boolean | string | string[];
  /** The URL of the service for its clients. The `type` of an error begins with it, or is a path without it (RFC 9457 3.1.1). */
  publicUrl?: string;
  security: SecurityHeaderOptions;
  /** Answers browsers with status 404 at paths that neither a route nor a guard has. Others get the error body. */
  notFoundPage?: PreparedDocument | undefined;
  /** Called after the response to a successful request that may have written. */
  onWritten?: () => void;
}

/**
 * Serves a list of routes. Every request passes the same steps: request id and log line, security headers, CORS,
 * authentication, rate limit, authorisation, body, parsing, handler, response; errors become the common error body.
 */
export function createApp(options: AppOptions): App {
  const { routes, guards = {}, logger, metrics, trustProxy, publicUrl = '', security, onWritten } = options;
  const { notFoundPage } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('trust proxy', trustProxy);
  app.set(problemsUrlSetting, problemsUrlOf(publicUrl));
  const isTrusted = app.get('trust proxy fn');
  Object.defineProperty(app.request, 'ip', {
    get(this: IncomingMessage) {
      return clientAddress(this, isTrusted);
    },
  });

  const startRequest = requestContext(logger, metrics);
  const fixedHeaders = securityHeaders(security);
  app.set(fixedHeadersSetting, fixedHeaders);
  app.use((request, response, next) => {
    startRequest(request, response);
    response.setHeaders(fixedHeaders);
    next();
  });
  const table = matchRoutes(routes);
  for (const { route, isOfOtherPath } of table) {
    const { method, path } = route.operation;
    const serve = handle(route, method === 'GET' ? undefined : onWritten);
    const serveOwn: RequestHandler = (request, response, next) =>
      isOfOtherPath?.(request.path) ? next() : serve(request, response, next);
    app[toExpressMethod(method)](path, isOfOtherPath === undefined ? serve : serveOwn);
  }
  const refuse = refuseUnmatched(table, guards, notFoundPage);
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (request.operation !== undefined) return next(error);
    // No route was called, because Express cannot decode the path.
    return refuse(request, response, error);
  });
  app.use((request, response) => refuse(request, response));
  app.use(errorHandler(options));
  return app;
}

interface MatchedRoute {
  route: Route;
  matches: (path: string) => boolean;
  /** Whether a path belongs to a route without parameters. Undefined if none matches this route's path. */
  isOfOtherPath: ((path: string) => boolean) | undefined;
}

/**
 * Returns the routes with their paths as functions. A path without parameters takes precedence over a path with
 * parameters, for every method (OpenAPI 3.1, 4.8.8.2).
 */
function matchRoutes(routes: readonly Route[]): MatchedRoute[] {
  const table = routes.map((route) => {
    const { path } = route.operation;
    const find = match(path.replace(/(?<=.)\/$/, ''), { sensitive: false, decode: false });
    return { route, path, matches: (requested: string) => find(requested) !== false };
  });
  const concrete = table.filter(({ path }) => !path.includes(':'));
  return table.map(({ route, path, matches }) => {
    const others = path.includes(':') ? concrete.filter((other) => matches(other.path)) : [];
    const isOfOtherPath = (requested: string) => others.some((other) => other.matches(requested));
    return { route, matches, isOfOtherPath: others.length === 0 ? undefined : isOfOtherPath };
  });
}

const expressMethods = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
  OPTIONS: 'options',
} as const;

function toExpressMethod(method: keyof typeof expressMethods) {
  return expressMethods[method];
}

function handle(route: Route, onServed?: () => void): RequestHandler {
  const { operation, access } = route;
  const prepare = prepareResponse(access);
  return async (request: IncomingMessage, response: ServerResponse) => {
    request.operation = operation;
    prepare(request, response);
    if (isPreflight(request, access)) response.writeHead(204).end();
    else {
      await route.serve(request, response);
      onServed?.();
    }
  };
}

/** Sets the headers that an access rule adds to every response, including errors. */
function prepareResponse(
  access: Access<unknown>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const crossOrigin = crossOriginHandler(access);
  const setHeaders: ConnectHandler = (_request, response, next) => {
    for (const [name, value] of Object.entries(access.headers ?? {})) response.setHeader(name, value);
    next();
  };
  // Without an Origin header, the response headers are always the same.
  const headers = headersSetBy(setHeaders, crossOrigin);
  return (request, response) => {
    response.setHeaders(headers);
    if (request.headers.origin !== undefined) crossOrigin(request, response, raise);
  };
}

function crossOriginHandler({ crossOrigin }: Access<unknown>): ConnectHandler {
  if (crossOrigin === undefined || crossOrigin.origins.length === 0)
    return (_request, _response, next) => next();
  const { origins, methods, exposedHeaders = [] } = crossOrigin;
  // Every path responds to OPTIONS.
  const allowed = [...methods, 'OPTIONS'];
  const apply = cors({
    origin: origins,
    methods: allowed,
    exposedHeaders,
    maxAge: 600,
    preflightContinue: true,
  });
  return (request, response, next) => {
    const { method, headers } = request;
    const isRequested = headers['access-control-request-method'] !== undefined;
    // cors treats every OPTIONS as a preflight. One without the header is an ordinary request (Fetch standard 3.3.2).
    if (method === 'OPTIONS' && !isRequested) apply({ method: 'GET', headers }, response, next);
    else apply(request, response, next);
  };
}

function raise(error?: unknown): void {
  if (error !== undefined) throw error;
}

/** Whether the request is a CORS preflight. The headers of the response grant the permission. */
function isPreflight({ method, headers }: IncomingMessage, { crossOrigin }: Access<unknown>): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined &&
    crossOrigin !== undefined
  );
}

const wantsPage = ({ method, headers }: IncomingMessage) =>
  (method === 'GET' || method === 'HEAD') && headers.accept?.includes('text/html') === true;

/**
 * Responds to requests that no route handles: preflights, OPTIONS with `Allow`, the given error, 405 with `Allow` if
 * the path exists for another method, and 404. The access rule of the path's first route, or of a guard, first
 * authenticates the caller. A request for another method does not use up the quota of the path's routes if a guard with
 * the same access rule has its own.
 */
function refuseUnmatched(
  table: readonly MatchedRoute[],
  guards: NonNullable<AppOptions['guards']>,
  notFoundPage: PreparedDocument | undefined,
) {
  const prepared = table.map((entry) => ({ ...entry, prepare: prepareResponse(entry.route.access) }));
  const guarded = Object.entries(guards).map(([prefix, route]) => ({
    matches: match(`${prefix}{/*rest}`, { sensitive: false, decode: false }),
    route,
    prepare: prepareResponse(route.access),
  }));
  const open = { route: guard({ access: everyone }), prepare: prepareResponse(everyone) };
  return async (request: Request, response: Response, error?: unknown): Promise<void> => {
    const found = prepared.filter(
      ({ matches, isOfOtherPath }) => matches(request.path) && !isOfOtherPath?.(request.path),
    );
    const [first] = found;
    const { route, prepare } =
      guarded.find(
        ({ matches, route: { access } }) =>
          matches(request.path) !== false && (first === undefined || access === first.route.access),
      ) ??
      first ??
      open;
    const operation = first?.route.operation;
    if (operation !== undefined) (request as IncomingMessage).operation = operation;
    prepare(request, response);
    if (isPreflight(request, route.access)) {
      response.writeHead(204).end();
      return;
    }
    await route.admit(request, response);
    if (error !== undefined) throw error;
    if (operation === undefined) {
      if (notFoundPage !== undefined && route === open.route && wantsPage(request)) {
        sendPreparedDocument(request, response, notFoundPage, 404);
        return;
      }
      throw new ProblemError({ status: 404, code: 'not_found', detail: 'Resource not found.' });
    }
    const methods = new Set<string>(['OPTIONS', ...found.map((entry) => entry.route.operation.method)]);
    if (methods.has('GET')) methods.add('HEAD');
    const headers = { Allow: [...methods].sort().join(', ') };
    if (request.method === 'OPTIONS') {
      response.writeHead(204, headers).end();
      return;
    }
    throw new ProblemError({
      status: 405,
      code: 'method_not_allowed',
      detail: `This path does not support ${request.method}.`,
      headers,
    });
  };
}
