import type supertest from 'supertest';
import type { Test } from 'supertest';

/** The headers of a request of the app's own pages. */
export const ownPage = { 'Sec-Fetch-Site': 'same-origin', 'X-Tessera-App': '1' };

type Method = 'get' | 'head' | 'options' | 'post' | 'put' | 'patch' | 'delete';

/** A browser with the app's cookie, as far as the service sees it. */
export class Browser {
  readonly #http: ReturnType<typeof supertest>;
  readonly #headers: Record<string, string>;
  /** The cookie as `name=value`. */
  cookie: string | undefined;
  /** The id of the person of the page, which its requests name. */
  user: string | undefined;

  constructor(http: ReturnType<typeof supertest>, headers: Record<string, string> = {}) {
    this.#http = http;
    this.#headers = { ...ownPage, ...headers };
  }

  /** The session id in the cookie. */
  get sessionId(): string {
    return this.cookie?.split('=')[1] ?? '';
  }

  /** Sends a request and keeps the cookie of its response. */
  send(method: Method, path: string, body?: object): Test {
    const request = this.#http[method](path).set(this.headers);
    request.on('response', ({ headers }: { headers: Record<string, unknown> }) => {
      const [set] = [headers['set-cookie'] ?? []].flat();
      if (typeof set === 'string') this.cookie = set.slice(0, set.indexOf(';'));
    });
    return body === undefined ? request : request.send(body);
  }

  /** The headers of a request that is not sent by `send`. */
  get headers(): Record<string, string> {
    return {
      ...this.#headers,
      ...(this.cookie !== undefined && { Cookie: this.cookie }),
      ...(this.user !== undefined && { 'X-Tessera-User': this.user }),
    };
  }

  get(path: string): Test {
    return this.send('get', path);
  }

  signIn(email: string, password: string): Test {
    return this.send('post', '/app/session', { email, password }).expect(({ body }) => {
      this.user = body.user?.id;
    });
  }

  /** Returns a browser with the same cookie that uses another process. */
  on({ http }: { http: ReturnType<typeof supertest> }): Browser {
    const other = new Browser(http, this.#headers);
    other.cookie = this.cookie;
    other.user = this.user;
    return other;
  }
}
