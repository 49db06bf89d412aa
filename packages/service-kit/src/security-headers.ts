import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import helmet from 'helmet';

interface SecurityHeaderOptions {
  /** The public URL is https: browsers shall never again ask over http (RFC 6797). */
  hsts: boolean;
  /** Who may embed an answer: `cross-origin` where pages of other origins read it, such as a public key set. */
  resourcePolicy?: 'same-origin' | 'cross-origin';
}

/**
 * The headers that protect a JSON API in a browser. helmet decides them, once: run for each request, it would
 * compose the same constants again.
 */
export function securityHeaderValues({
  hsts,
  resourcePolicy = 'same-origin',
}: SecurityHeaderOptions): Map<string, string> {
  const protect = helmet({
    // Nothing in an answer is ever run, loaded or framed.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: resourcePolicy },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: hsts,
    xFrameOptions: { action: 'deny' },
  });
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  protect(request, response, (error) => {
    if (error !== undefined) throw error;
  });
  return new Map(response.getHeaderNames().map((name) => [name, String(response.getHeader(name))]));
}

/** Sets `securityHeaderValues` on every answer; a route may replace one of them for itself. */
export function securityHeaders(options: SecurityHeaderOptions): RequestHandler {
  const values = [...securityHeaderValues(options)];
  return (_request, response, next) => {
    for (const [name, value] of values) response.setHeader(name, value);
    response.removeHeader('X-Powered-By');
    next();
  };
}
