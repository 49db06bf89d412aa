import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { documentRoute, type PreparedDocument, prepareBytes, type Route } from '@tessera/service-kit';
import type { Branding } from './branding.ts';
import { type BrandColors, darkSurface } from './color.ts';
import { html } from './html.ts';

/** A file of the pages. Its name contains its hash, so caches may keep it. */
export interface Asset {
  /** For links; starts with the path of the public URL of the service. */
  href: string;
  /** Where the service serves it. */
  path: string;
  document: PreparedDocument;
}

/** The path is the same from `src` and from `dist`. */
const styleSheet = new URL('../../assets/pages.css', import.meta.url);
const forever = { 'Cache-Control': 'public, max-age=31536000, immutable' };
// An image of an operator may be opened as a document.
const imagePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** The routes of the files of the pages. */
export function assetRoutes({ style, logo, clientLogos }: Branding): Route[] {
  const assets = new Map([style, logo, ...clientLogos.values()].map((asset) => [asset.path, asset.document]));
  return Array.from(assets, ([path, document]) => documentRoute({ method: 'GET', path }, document));
}

export async function styleAsset(colors: BrandColors, basePath: string): Promise<Asset> {
  const rules = await readFile(styleSheet, 'utf8');
  const { button, darkButton, darkLink } = colors;
  const variables =
    `:root{--brand:${button};--link:${button};--surface:#fff}` +
    `@media (prefers-color-scheme:dark){:root{--brand:${darkButton};--link:${darkLink};--surface:${darkSurface}}}\n`;
  return prepareAsset('style', 'css', Buffer.from(variables + rules), 'text/css; charset=utf-8', basePath);
}

/** Returns undefined for other files than SVG, PNG and WebP. */
export function imageAsset(content: Buffer, basePath: string): Asset | undefined {
  const [extension, type] = imageTypeOf(content);
  if (extension === undefined || type === undefined) return undefined;
  return prepareAsset('logo', extension, content, type, basePath, { 'Content-Security-Policy': imagePolicy });
}

function imageTypeOf(content: Buffer): readonly [string, string] | readonly [] {
  if (content.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return ['png', 'image/png'];
  if (content.toString('latin1', 0, 4) === 'RIFF' && content.toString('latin1', 8, 12) === 'WEBP')
    return ['webp', 'image/webp'];
  const text = content.toString('utf8').trimStart();
  if (/^(?:\ufeff?<\?xml[^>]*>\s*|<!--[\s\S]*?-->\s*|<!DOCTYPE svg[^>]*>\s*)*<svg[\s>]/i.test(text))
    return ['svg', 'image/svg+xml'];
  return [];
}

const tiles =
  '<path d="M3.5 3.5h4v4h-4zM8.5 8.5h4v4h-4z"/><path d="M8.5 3.5h4v4h-4zM3.5 8.5h4v4h-4z" opacity=".45"/>';

/** The logo without `BRAND_LOGO`: the tiles of Tessera, or the first letter of another name. */
export function defaultLogo(name: string, { button }: BrandColors, basePath: string): Asset {
  const [letter = ''] =
    new Intl.Segmenter().segment(name.toUpperCase())[Symbol.iterator]().next().value?.segment ?? '';
  const sign =
    name === 'Tessera'
      ? tiles
      : html`<text x="8" y="11.4" text-anchor="middle" font-family="system-ui,sans-serif" font-size="9.5" font-weight="600">${letter}</text>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="64" height="64"><rect width="16" height="16" rx="3.5" fill="${button}"/><g fill="#fff">${sign}</g></svg>`;
  return prepareAsset('logo', 'svg', Buffer.from(svg), 'image/svg+xml', basePath);
}

function prepareAsset(
  name: string,
  extension: string,
  content: Buffer,
  type: string,
  basePath: string,
  headers: Record<string, string> = {},
): Asset {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const path = `/pages/${name}-${hash}.${extension}`;
  return {
    path,
    href: `${basePath}${path}`,
    document: prepareBytes(content, type, { ...forever, ...headers }),
  };
}
