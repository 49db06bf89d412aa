import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

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

/**
 * The headers that protect a JSON API in browsers (OWASP REST Security). Scripts, resources, frames, referrers and guessed
 * content types are refused; those of pages, old browsers and plug-ins are not needed.
 */
export function securityHeaders({
  hsts,
  resourcePolicy = 'same-origin',
}: SecurityHeaderOptions): Map<string, string> {
  return new Map([
    ['content-security-policy', "default-src 'none';frame-ancestors 'none'"],
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', resourcePolicy],
    ['referrer-policy', 'no-referrer'],
    ...(hsts ? ([['strict-transport-security', 'max-age=31536000; includeSubDomains']] as const) : []),
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
  ]);
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
