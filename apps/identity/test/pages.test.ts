import { describe, expect, it } from '@jest/globals';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { assetRoutes } from '../src/pages/assets.ts';
import type { Branding } from '../src/pages/branding.ts';
import { continuePage } from '../src/pages/continue-page.ts';
import { html } from '../src/pages/html.ts';
import { selectLocale } from '../src/pages/locale.ts';
import { builtInMessages, placeholdersOf } from '../src/pages/messages/messages.ts';
import { newPasswordPage } from '../src/pages/new-password-page.ts';
import { pageHeaders } from '../src/pages/page.ts';
import { type PageContext, pageContext } from '../src/pages/page-context.ts';
import { signInPage } from '../src/pages/sign-in-page.ts';
import { aBranding, samplePages } from './support/sample-pages.ts';

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

const branding = await aBranding();
const contextIn = (locale: string, from: Branding = branding): PageContext =>
  pageContext(from, { headers: { 'accept-language': locale } });

/** The pages with the text of another person in each place. */
const pagesWith = (context: PageContext, text: string): Record<string, string> =>
  samplePages(context, { client: text, email: text, value: text });

const hostile = [
  '<script>ran()</script>',
  '"><img src=x onerror=ran()>',
  "' onfocus='ran()' autofocus='",
  '</title></textarea></style><svg onload=ran()>',
  '&lt;b&gt; &amp; & &#60;',
  '-->]]><!--',
  '\u202e\u2066אבג <b>‏مرحبا\u202b',
  '\u0000\u0001\ud800\ufffe\u0085 x',
  'a'.repeat(200),
  '{client} {email} $& $1',
];

function parsed(page: string) {
  const problems: string[] = [];
  const document = parse(page, {
    sourceCodeLocationInfo: true,
    onParseError: ({ code, startLine }) => problems.push(`${code} in line ${startLine}`),
  });
  return { document, problems };
}

function elementsOf(node: Node): Element[] {
  const children = 'childNodes' in node ? node.childNodes.flatMap(elementsOf) : [];
  return 'tagName' in node ? [node, ...children] : children;
}

function textOf(node: Node): string {
  if (node.nodeName === '#text') return (node as DefaultTreeAdapterTypes.TextNode).value;
  return 'childNodes' in node ? node.childNodes.map(textOf).join('') : '';
}

const attribute = (element: Element | undefined, name: string) =>
  element?.attrs.find((one) => one.name === name)?.value;
const named = (elements: Element[], tag: string) => elements.filter(({ tagName }) => tagName === tag);

describe.each(['en', 'de'])('the pages in %s', (locale) => {
  const pages = Object.entries(pagesWith(contextIn(locale), 'Ada & the "Helpdesk"'));

  it.each(pages)('%s is a valid document', (_name, page) => {
    const { document, problems } = parsed(page);
    expect(problems).toEqual([]);
    const elements = elementsOf(document);
    const [root] = elements;
    expect(attribute(root, 'lang')).toBe(locale);
    expect(attribute(root, 'dir')).toBe('ltr');
    expect(named(elements, 'h1')).toHaveLength(1);
    expect(named(elements, 'main')).toHaveLength(1);
    expect(named(elements, 'title').map(textOf).join()).not.toMatch(/^\s*$|undefined|\{/);
    const ids = elements.flatMap((element) => attribute(element, 'id') ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    // Every field that a person sees has a label, and each description exists.
    for (const input of named(elements, 'input').filter((one) => attribute(one, 'type') !== 'hidden')) {
      const labels = named(elements, 'label').filter(
        (one) => attribute(one, 'for') === attribute(input, 'id'),
      );
      expect(labels).toHaveLength(1);
      const described = attribute(input, 'aria-describedby');
      if (described !== undefined) expect(ids).toEqual(expect.arrayContaining(described.split(' ')));
    }
    expect(elements.filter((one) => attribute(one, 'autofocus') !== undefined).length).toBeLessThan(2);
    expect(page).not.toMatch(/undefined|\[object|\{[a-z]+\}/);
  });

  it.each(pages)('%s needs no script, no style and no other origin', (_name, page) => {
    const elements = elementsOf(parsed(page).document);
    expect(named(elements, 'script')).toEqual([]);
    expect(named(elements, 'style')).toEqual([]);
    const names = new Set(elements.flatMap(({ attrs }) => attrs.map(({ name }) => name)));
    expect([...names].filter((name) => name === 'style' || name.startsWith('on'))).toEqual([]);
    for (const element of [...named(elements, 'img'), ...named(elements, 'link')])
      expect(attribute(element, 'src') ?? attribute(element, 'href')).toMatch(
        /^\/pages\/[a-z]+-[0-9a-f]{16}\.\w+$/,
      );
    for (const form of named(elements, 'form')) expect(attribute(form, 'method')).toBe('post');
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(15 * 1024);
  });

  it('has an alert on each page that refuses, and names it first in the title', () => {
    for (const [name, page] of pages) {
      const elements = elementsOf(parsed(page).document);
      const alerts = elements.filter((one) => attribute(one, 'role') === 'alert');
      const refuses = /-(wrong|incomplete|expired|limited|short)$/.test(name);
      expect(alerts).toHaveLength(refuses ? 1 : 0);
      const [title = ''] = named(elements, 'title').map(textOf);
      expect(/^(Error|Fehler): /.test(title)).toBe(refuses);
    }
  });
});

describe('texts of other people', () => {
  it.each(hostile.map((text, index) => ({ index, text })))('number $index stays a text', ({ text }) => {
    const expected = Object.entries(pagesWith(contextIn('en'), 'plain'));
    const pages = pagesWith(contextIn('en'), text);
    for (const [name, page] of expected) {
      const { document, problems } = parsed(pages[name] ?? '');
      expect({ name, problems }).toEqual({ name, problems: [] });
      const shapeOf = (of: Node) =>
        elementsOf(of).map(({ tagName, attrs }) => [tagName, ...attrs.map((one) => one.name)].join(' '));
      expect(shapeOf(document)).toEqual(shapeOf(parsed(page).document));
    }
  });

  it('are written unchanged', () => {
    const elements = elementsOf(
      parsed(pagesWith(contextIn('en'), hostile.slice(0, 6).join('\t'))['sign-in-again'] ?? '').document,
    );
    const text = hostile.slice(0, 6).join('\t');
    expect(named(elements, 'bdi').map(textOf)).toContain(text);
    const values = named(elements, 'input').map((one) => attribute(one, 'value'));
    expect(values).toEqual([text, text, undefined]);
  });

  it('are escaped in each place of a template', () => {
    expect(String(html`<a b="${'"<&>\''}">${['<', html`<i>${'&'}</i>`]}${false}${undefined}${0}</a>`)).toBe(
      '<a b="&#34;&#60;&#38;&#62;&#39;">&#60;<i>&#38;</i>0</a>',
    );
  });
});

describe('the sign-in page', () => {
  const inputsOf = (page: string) =>
    named(elementsOf(parsed(page).document), 'input')
      .filter((one) => attribute(one, 'type') !== 'hidden')
      .map((one) => Object.fromEntries(one.attrs.map(({ name, value }) => [name, value])));
  const view = { context: contextIn('en'), action: '/sign-in', fields: [] };

  it('puts the focus into the first field that is to be filled', () => {
    const focusOf = (page: string) =>
      inputsOf(page).flatMap(({ name, autofocus }) => (autofocus === undefined ? [] : [name]));
    expect(focusOf(signInPage(view))).toEqual(['email']);
    expect(focusOf(signInPage({ ...view, email: 'ada@example.com' }))).toEqual(['password']);
    expect(focusOf(newPasswordPage({ ...view, email: 'ada@example.com', minLength: 8 }))).toEqual([
      'password',
    ]);
  });

  it('helps password managers', () => {
    expect(inputsOf(signInPage(view)).map(({ autocomplete }) => autocomplete)).toEqual([
      'username',
      'current-password',
    ]);
    const page = newPasswordPage({ ...view, email: 'ada@example.com', minLength: 8 });
    expect(inputsOf(page).map(({ autocomplete }) => autocomplete)).toEqual([
      'username',
      'current-password',
      'new-password',
    ]);
  });

  it('keeps the e-mail and no password after a refusal, and describes the fields by the error', () => {
    const page = signInPage({ ...view, email: 'ada@example.com', error: { code: 'invalid_grant' } });
    expect(inputsOf(page)).toMatchObject([
      { value: 'ada@example.com', 'aria-invalid': 'true', 'aria-describedby': 'error' },
      { name: 'password', 'aria-invalid': 'true', 'aria-describedby': 'error', autofocus: '' },
    ]);
    expect(inputsOf(page)[1]).not.toHaveProperty('value');
  });
});

describe('the page that continues', () => {
  it('goes to the client by a refresh and by a link', () => {
    const to = "https://app.example/cb?code=a'b&state=%22;url=https://evil.example&iss=https%3A%2F%2Fid";
    const elements = elementsOf(parsed(continuePage({ context: contextIn('en'), to })).document);
    const refresh = named(elements, 'meta').find((one) => attribute(one, 'http-equiv') === 'refresh');
    expect(attribute(refresh, 'content')).toBe(`0;url=${to}`);
    expect(named(elements, 'a').map((one) => attribute(one, 'href'))).toEqual([to]);
  });

  it.each(['javascript:ran()', ' javascript:ran()', 'DATA:text/html,x', 'no address', '//evil.example/'])(
    'refuses %j',
    (to) => {
      expect(() => continuePage({ context: contextIn('en'), to })).toThrow();
    },
  );
});

describe('languages', () => {
  it.each([
    ['de', undefined, 'de'],
    ['de-AT', undefined, 'de'],
    ['fr, de;q=0.5, en;q=0.7', undefined, 'en'],
    ['fr, de;q=0.7, en;q=0.5', undefined, 'de'],
    ['de;q=0, en;q=0.1', undefined, 'en'],
    ['en', 'fr de', 'de'],
    ['de', 'EN-us', 'en'],
    ['de', 'fr', 'de'],
    ['*', undefined, 'en'],
    [undefined, undefined, 'en'],
    ['x,'.repeat(1_000), 'y '.repeat(1_000), 'en'],
  ])('Accept-Language %.40s and ui_locales %.40s select %s', (acceptLanguage, uiLocales, expected) => {
    expect(selectLocale(['en', 'de'], { acceptLanguage, uiLocales })).toBe(expected);
  });

  it.each(Object.entries(builtInMessages))('%s has the values of every text', (_locale, messages) => {
    for (const [key, text] of Object.entries(messages))
      expect([key, placeholdersOf(text)]).toEqual([
        key,
        placeholdersOf(builtInMessages.en?.[key as keyof typeof messages] ?? ''),
      ]);
    expect(Object.keys(messages).sort()).toEqual(Object.keys(builtInMessages.en ?? {}).sort());
  });
});

it('the headers allow forms, styles and pictures of the service alone', () => {
  expect(pageHeaders({ locale: 'de' })).toMatchObject({
    'Content-Language': 'de',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'no-store',
    'Cross-Origin-Opener-Policy': 'same-origin',
  });
});

it('serves the style and the logo under their hash', () => {
  expect(assetRoutes(branding).map(({ operation }) => operation.path)).toEqual([
    branding.style.path,
    branding.logo.path,
  ]);
});
