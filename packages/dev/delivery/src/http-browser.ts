import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';

/** A response of a service. */
export interface Page {
  url: string;
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Where a redirect leads, or a page that goes on by itself. */
  next: string | undefined;
}

interface BrowserOptions {
  cookies?: Iterable<readonly [string, string]>;
  /** Where services listen whose public URLs have another origin. */
  places?: Readonly<Record<string, string>>;
}

const navigation = {
  Accept: 'text/html',
  'Sec-Fetch-Site': 'cross-site',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
};
/** The headers of a request of the app's own page. */
export const ofOwnPage = { Accept: 'application/json', 'Sec-Fetch-Site': 'same-origin' };

/** A browser without scripts, for http. It keeps cookies; those of a host are sent to all its ports. */
export class HttpBrowser {
  readonly cookies: Map<string, string>;
  readonly #places: Readonly<Record<string, string>>;

  constructor({ cookies = [], places = {} }: BrowserOptions = {}) {
    this.cookies = new Map(cookies);
    this.#places = places;
  }

  get(url: string, headers: Record<string, string> = navigation): Promise<Page> {
    return this.#send('GET', url, headers);
  }

  post(url: string, body: object): Promise<Page> {
    const headers = { ...ofOwnPage, Origin: new URL(url).origin, 'X-Tessera-App': '1' };
    return this.#send('POST', url, { ...headers, 'Content-Type': 'application/json' }, JSON.stringify(body));
  }

  /** Goes on to where a page leads, as long as the address is wanted. @returns the last page */
  async follow(page: Page, isWanted: (url: string) => boolean = () => true): Promise<Page> {
    let last = page;
    while (last.next !== undefined && isWanted(last.next)) last = await this.get(last.next);
    return last;
  }

  /** Sends the form of a page with its hidden fields. */
  submit({ url, text }: Page, typed: Record<string, string>): Promise<Page> {
    const hidden = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
      ([, name = '', value = '']) => [decoded(name), decoded(value)] as const,
    );
    const action = new URL(decoded(/<form[^>]* action="([^"]*)"/.exec(text)?.[1] ?? ''), url);
    const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...typed });
    const headers = { ...navigation, 'Sec-Fetch-Site': 'same-origin', Origin: action.origin };
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    return this.#send('POST', action.href, { ...headers, ...type }, body.toString());
  }

  async #send(method: string, url: string, headers: Record<string, string>, body?: string): Promise<Page> {
    const { origin, pathname, search } = new URL(url);
    const Cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const place = `${this.#places[origin] ?? origin}${pathname}${search}`;
    const sent = request(place, { method, headers: { ...headers, Cookie } });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const text = await readText(response);
    for (const set of response.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const refresh = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(text)?.[1];
    const next = response.headers.location ?? (refresh === undefined ? undefined : decoded(refresh));
    const common = { url, status: response.statusCode ?? 0, headers: response.headers, text };
    return { ...common, next: next === undefined ? undefined : new URL(next, url).href };
  }
}

// The pages of identity have numeric references only.
function decoded(html: string): string {
  return html.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}
