import type { ServerResponse } from 'node:http';
import type { Asset } from './assets.ts';
import { type Html, type HtmlValue, html, isolate } from './html.ts';
import { type PageContext, textOf } from './page-context.ts';

interface PageParts {
  context: PageContext;
  /** The heading, and the title of the window. */
  title: string;
  /** Below the heading. */
  subtitle?: HtmlValue;
  /** The client whose request it is. Its logo stands beside that of the brand. */
  client?: { id: string; name: string } | undefined;
  /** Whether the page refuses what was entered. A title that starts with it is read first. */
  hasError?: boolean;
  /** Goes to the address at once. */
  refreshTo?: string;
  content: HtmlValue;
}

const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/**
 * The headers of every page. `isKept`: the browser, and no other cache, keeps the page for its back button. Without it, Chromium
 * shows ERR_CACHE_MISS for the answer of a form.
 */
export function pageHeaders(
  { locale }: Pick<PageContext, 'locale'>,
  { isKept = false }: { isKept?: boolean } = {},
): Record<string, string> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Language': locale,
    'Content-Security-Policy': policy,
    // With no-referrer, browsers send the forms with `Origin: null`.
    'Referrer-Policy': 'same-origin',
    'Cache-Control': isKept ? 'private, no-cache' : 'no-store',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
}

interface SentPage {
  status: number;
  page: string;
  context: PageContext;
  isKept?: boolean;
}

/** Answers with a page. It is not compressed: its size would tell about secrets beside texts of the request (BREACH). */
export function sendPage(
  response: ServerResponse,
  { status, page, context, isKept = false }: SentPage,
): void {
  const headers = { ...pageHeaders(context, { isKept }), 'Content-Length': String(Buffer.byteLength(page)) };
  response.writeHead(status, headers).end(response.req.method === 'HEAD' ? undefined : page);
}

export function renderPage({
  context,
  title,
  subtitle,
  client,
  hasError = false,
  refreshTo,
  content,
}: PageParts): string {
  const { brand, style, logo, locale, direction } = context;
  const windowTitle = hasError ? textOf(context, 'error.title', { title }) : title;
  return String(html`<!doctype html>
<html lang="${locale}" dir="${direction}">
<head>
<meta charset="utf-8">
<title>${windowTitle} · ${isolate(brand)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${refreshTo !== undefined && html`<meta http-equiv="refresh" content="0;url=${refreshTo}">`}
<link rel="icon" href="${logo.href}">
<link rel="stylesheet" href="${style.href}">
</head>
<body>
<main>
<div class="logos">${logosOf(context, client)}</div>
<h1>${title}</h1>
${subtitle !== undefined && html`<p class="subtitle">${subtitle}</p>`}
<div class="content">
${content}
</div>
</main>
</body>
</html>
`);
}

/** The logo of the brand, with its name if the logo has none; beside it the logo of the client, if it has one. */
function logosOf({ brand, logo, hasOwnLogo, clientLogoOf }: PageContext, client: PageParts['client']): Html {
  const clientLogo = client === undefined ? undefined : clientLogoOf(client.id);
  if (clientLogo !== undefined)
    return html`${image(logo, brand)}<span class="join"></span>${image(clientLogo, '')}`;
  return hasOwnLogo ? image(logo, brand) : html`${image(logo, '')}<bdi class="brand">${brand}</bdi>`;
}

function image({ href }: Asset, name: string): Html {
  return html`<img class="logo" src="${href}" alt="${name}" height="40">`;
}
