import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/** A middleware with the types of `node:http`. */
export type ConnectHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

export interface SecurityHeaderOptions {
  /** Tells browsers to use only https from now on (RFC 6797); for an https public URL. */
  hsts: boolean;
  /** Who may embed responses: `cross-origin` if pages of other origins read them, such as a public key set. */
  resourcePolicy?: 'same-origin' | 'cross-origin';
}

/** The headers that protect a JSON API in browsers; computed once by helmet, because they never change. */
export function securityHeaders({
  hsts,
  resourcePolicy = 'same-origin',
}: SecurityHeaderOptions): Map<string, string> {
  return headersSetBy(
    helmet({
      // A response never runs, loads or frames anything.
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      },
      crossOriginResourcePolicy: { policy: resourcePolicy },
      referrerPolicy: { policy: 'no-referrer' },
      strictTransportSecurity: hsts,
      xFrameOptions: { action: 'deny' },
      // For pages, old browsers and plug-ins; useless for a JSON API (OWASP REST Security).
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
