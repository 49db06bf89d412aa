import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '@tessera/service-kit';
import type { Branding } from '../src/pages/branding.ts';
import { brandColors, contrastOf, darkSurface, isReadable } from '../src/pages/color.ts';
import { builtInMessages } from '../src/pages/messages/messages.ts';
import { pageContext } from '../src/pages/page-context.ts';
import { signInPage } from '../src/pages/sign-in-page.ts';
import { aBranding, samplePages } from './support/sample-pages.ts';

const contextIn = (locale: string, branding: Branding) =>
  pageContext(branding, { headers: { 'accept-language': locale } });

describe('the brand', () => {
  const folder = mkdtempSync(join(tmpdir(), 'brand-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  };
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
    'base64',
  );
  const svg = '<?xml version="1.0"?>\n<!-- a logo -->\n<svg xmlns="http://www.w3.org/2000/svg"/>';
  const problemsOf = async (config: Parameters<typeof aBranding>[0]) =>
    aBranding(config).then(
      () => [],
      (error: unknown) => (error instanceof ConfigError ? error.problems : [String(error)]),
    );

  it('has readable colors in both themes, or none', () => {
    for (const color of ['#000000', '#3b4fd8', '#767676', '#b3261e', '#0b6b3a', '#0000ff', '#5c2d91']) {
      const { button, darkButton, darkLink } = brandColors(color);
      expect(isReadable(button)).toBe(true);
      expect(isReadable(darkButton)).toBe(true);
      expect(contrastOf(darkButton, darkSurface)).toBeGreaterThanOrEqual(3);
      expect(contrastOf(darkLink, darkSurface)).toBeGreaterThanOrEqual(4.5);
    }
    expect(['#ffcc00', '#777777', '#00aa00'].filter(isReadable)).toEqual([]);
  });

  it('has logos of its own and of clients, by their content', async () => {
    file('clients/c-1.svg', svg);
    file('clients/c-2.png', png);
    file('clients/..data/x', 'a link of Kubernetes');
    const brand = await aBranding({ logo: file('logo.png', png), clientLogos: join(folder, 'clients') });
    const page = signInPage({
      context: contextIn('en', brand),
      action: '/sign-in',
      fields: [],
      client: { id: 'c-1', name: 'Helpdesk' },
    });
    const images = [...page.matchAll(/<img class="logo" src="([^"]+)"/g)].map(([, path]) => path);
    expect(images).toEqual([brand.logo.href, brand.clientLogos.get('c-1')?.href]);
    expect(brand.logo.document.headers).toMatchObject({
      'Content-Type': 'image/png',
      'Cache-Control': 'public, max-age=31536000, immutable',
    });
    // Opened as a document, it runs nothing.
    expect(brand.clientLogos.get('c-1')?.document.headers).toMatchObject({
      'Content-Type': 'image/svg+xml',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    });
    expect(brand.clientLogos.get('c-2')?.document.headers['Content-Type']).toBe('image/png');
  });

  it('replaces texts, and adds a language', async () => {
    file('texts/de.json', JSON.stringify({ 'signIn.title': 'Willkommen' }));
    const whole = Object.fromEntries(
      Object.entries(builtInMessages.en ?? {}).map(([key, text]) => [key, `فا ${text}`]),
    );
    file('texts/fa.json', JSON.stringify(whole));
    const brand = await aBranding({ messages: join(folder, 'texts') });
    const page = (locale: string) =>
      samplePages(contextIn(locale, brand), { client: 'c', email: 'e' })['sign-in'];
    expect(page('de')).toContain('<h1>Willkommen</h1>');
    expect(page('de')).toContain('>Passwort<');
    expect(page('fa')).toMatch(/<html lang="fa" dir="rtl">[\s\S]*<h1>فا Sign in<\/h1>/);
    expect(page('en')).toContain('<h1>Sign in</h1>');
  });

  it('is refused with the name of each variable, file and key', async () => {
    file(
      'wrong/de.json',
      '{"signIn.titel": "x", "signIn.client": "weiter", "signIn.title": 1, "consent.deny": "{client}"}',
    );
    file('wrong/fr.json', '{"signIn.title": "Connexion"}');
    file('wrong/README', 'x');
    file('wrong/nl.json', '[');
    file('logos/c.svg', '<html><svg></svg></html>');
    file('logos/d.png', Buffer.alloc(64 * 1024 + 1));
    const problems = await problemsOf({
      logo: join(folder, 'missing.svg'),
      clientLogos: join(folder, 'logos'),
      messages: join(folder, 'wrong'),
    });
    expect(problems.filter((problem) => !problem.includes('is missing')).sort()).toEqual([
      'BRAND_CLIENT_LOGOS: c.svg: must be an SVG, PNG or WebP image',
      'BRAND_CLIENT_LOGOS: d.png: is larger than 64 KiB',
      'BRAND_LOGO: cannot be read',
      'BRAND_MESSAGES: README: must be named like de.json',
      'BRAND_MESSAGES: de.json: "consent.deny" must contain no {value}',
      'BRAND_MESSAGES: de.json: "signIn.client" must contain {client}',
      'BRAND_MESSAGES: de.json: "signIn.titel" is not a key',
      'BRAND_MESSAGES: de.json: "signIn.title" must be a text',
      'BRAND_MESSAGES: nl.json: is not JSON',
    ]);
    expect(problems).toContain('BRAND_MESSAGES: fr.json: "signIn.client" is missing');
    expect(await problemsOf({ messages: join(folder, 'none') })).toEqual([
      'BRAND_MESSAGES: the folder cannot be read',
    ]);
  });
});
