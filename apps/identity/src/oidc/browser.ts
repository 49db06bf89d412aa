import type { IncomingMessage, ServerResponse } from 'node:http';
import { ProblemError, type Route } from '@tessera/service-kit';
import type { Branding } from '../pages/branding.ts';
import { continuePage } from '../pages/continue-page.ts';
import { sendPage } from '../pages/page.ts';
import { type PageContext, pageContext } from '../pages/page-context.ts';
import { type RefusalKind, refusalPage } from '../pages/refusal-page.ts';
import { readQuery } from './parameters.ts';

type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/** A route that browsers open. Its errors are pages. */
export function browserRoute(method: 'GET' | 'POST', path: string, serve: Serve): Route {
  const access = { identify: () => undefined };
  return { operation: { method, path, page: true }, access, admit: async () => undefined, serve };
}

/**
 * Refuses a form of another site (login CSRF). Browsers that send no `Sec-Fetch-Site` name the origin; a page without one is of
 * no browser.
 */
export function assertOwnForm(request: IncomingMessage, origin: string): void {
  if (isOwnForm(request, origin)) return;
  throw new ProblemError({
    status: 403,
    code: 'cross_site_request',
    detail: 'The form is of another site.',
  });
}

export function isOwnForm({ headers }: IncomingMessage, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers.origin === origin : site === 'same-origin';
}

/** Refuses a request that a browser makes before a person wants it: it would use up or show a code. */
export function assertWanted({ method, headers }: IncomingMessage): void {
  const purposes = [headers['sec-purpose'], headers.purpose, headers['x-moz']].flat().join(' ');
  if (method !== 'HEAD' && !/\bprefetch\b|\bprerender\b|\bpreview\b/i.test(purposes)) return;
  throw new ProblemError({
    status: 503,
    code: 'temporarily_unavailable',
    detail: 'The page is not sent in advance.',
    headers: { 'Retry-After': '1' },
  });
}

/** Answers a GET with another address: the browser forgets the method, the body and the page before (RFC 9700 4.12). */
export function redirect(response: ServerResponse, to: string): void {
  response
    .writeHead(303, { Location: to, 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
    .end();
}

const refusalKinds: Readonly<Record<number, RefusalKind>> = {
  403: 'cross_site',
  404: 'not_found',
  429: 'too_many_requests',
  500: 'unavailable',
  503: 'unavailable',
};

/** The pages of a service, in the language of each request. */
export class Browser {
  readonly #branding: Branding;

  constructor(branding: Branding) {
    this.#branding = branding;
  }

  /** @param uiLocales the languages that the application asks for; by default those of the query */
  context(
    request: IncomingMessage,
    uiLocales = readQuery(request.url ?? '').values.get('ui_locales'),
  ): PageContext {
    return pageContext(this.#branding, request, uiLocales);
  }

  send(response: ServerResponse, context: PageContext, status: number, page: string): void {
    sendPage(response, { status, page, context });
  }

  /** Answers with a page that has a form. If it answers a form itself, the back button shows it again. */
  sendForm(response: ServerResponse, context: PageContext, status: number, page: string): void {
    sendPage(response, { status, page, context, isKept: response.req.method === 'POST' });
  }

  /** Goes on to a client after a form, which a redirect could not. */
  continue(response: ServerResponse, context: PageContext, to: string): void {
    this.send(response, context, 200, continuePage({ context, to }));
  }

  refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { kind, status = 400, uiLocales }: { kind: RefusalKind; status?: number; uiLocales?: string | undefined },
  ): void {
    const context = this.context(request, uiLocales);
    this.send(response, context, status, refusalPage({ context, kind, id: request.requestId ?? '' }));
  }

  /** Writes the page of a problem. */
  sendError({ status, headers }: ProblemError, request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    this.refuse(request, response, { kind: refusalKinds[status] ?? 'bad_request', status });
  }
}
