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
  /**
   * The value of `Cross-Origin-Resource-Policy`: `cross-origin` for responses that pages of other origins read, such as
   * a public key set.
   */
  resourcePolicy?: 'same-origin' | 'cross-origin';
}

/** The setting of an app for the headers of every response. The server sends them with responses that bypass the app. */
export const fixedHeadersSetting = 'fixed headers';

/** The headers that protect a JSON API in browsers; computed once by helmet, because they never change. */
export function securityHeaders({
  hsts,
  resourcePolicy = 'same-origin',
}: SecurityHeaderOptions): Map<string, string> {
  return headersSetBy(
    helmet({
      // The policy allows no scripts, resources or frames.
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      },
      crossOriginResourcePolicy: { policy: resourcePolicy },
      referrerPolicy: { policy: 'no-referrer' },
      strictTransportSecurity: hsts,
      xFrameOptions: { action: 'deny' },
      // These headers concern pages, old browsers and plug-ins. A JSON API does not need them (OWASP REST Security).
      xDnsPrefetchControl: false,
      xDownloadOptions: false,
      xPermittedCrossDomainPolicies: false,
      xXssProtection: false,
      originAgentCluster: false,
    }),
  );
}

/** Returns the headers that handlers set on the response to a GET without an `Origin`. */
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
