import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/** A middleware in Node's own terms. */
export type ConnectHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

export interface SecurityHeaderOptions {
  /** The public URL is https: browsers shall never again ask over http (RFC 6797). */
  hsts: boolean;
  /** Who may embed an answer: `cross-origin` where pages of other origins read it, such as a public key set. */
  resourcePolicy?: 'same-origin' | 'cross-origin';
}

/** The headers that protect a JSON API in a browser. helmet computes them once, because they never differ. */
export function securityHeaders({
  hsts,
  resourcePolicy = 'same-origin',
}: SecurityHeaderOptions): Map<string, string> {
  return headersSetBy(
    helmet({
      // Nothing in an answer is ever run, loaded or framed.
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      },
      crossOriginResourcePolicy: { policy: resourcePolicy },
      referrerPolicy: { policy: 'no-referrer' },
      strictTransportSecurity: hsts,
      xFrameOptions: { action: 'deny' },
      // For pages, and for browsers and plug-ins of the past: to a JSON API they add bytes alone (OWASP REST Security).
      xDnsPrefetchControl: false,
      xDownloadOptions: false,
      xPermittedCrossDomainPolicies: false,
      xXssProtection: false,
      originAgentCluster: false,
    }),
  );
}

/** The headers that handlers set on the response to a GET without an `Origin`. */
export function headersSetBy(...handlers: ConnectHandler[]): Map<string, string> {
  const request = new IncomingMessage(new Socket());
  request.method = 'GET';
  const response = new ServerResponse(request);
  for (const handle of handlers) {
    handle(request, response, (error) => {
      if (error !== undefined) throw error;
    });
  }
  return new Map(response.getHeaderNames().map((name) => [name, String(response.getHeader(name))]));
}
