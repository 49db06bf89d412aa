import { type Answer, Refused } from '../server/exchange.ts';

/** Gitea's errors: a message for people, and where its API is described. */
export class GiteaErrors {
  readonly #origin: () => string;

  constructor(origin: () => string) {
    this.#origin = origin;
  }

  notFound(): Refused {
    return this.#refused(404, "The target couldn't be found.", { errors: [] });
  }

  noSuchUser(login: string): Refused {
    return this.#refused(404, "The target couldn't be found.", {
      errors: [`user does not exist [uid: 0, name: ${login}]`],
    });
  }

  tokenRequired(): Refused {
    return this.#refused(401, 'token is required');
  }

  badToken(): Refused {
    return this.#refused(401, 'invalid username, password or token');
  }

  required(field: string): Refused {
    return this.#refused(422, `[${field}]: Required`);
  }

  unreadable(): Refused {
    return this.#refused(422, '[]: invalid character');
  }

  unknownState(state: string): Refused {
    return this.#refused(412, `unknown state: ${state}`);
  }

  alreadyChanged(): Refused {
    return this.#refused(409, 'the issue is already changed');
  }

  /** Gitea has it or would not look at it: said aloud, so that no test passes on a wrong answer. */
  notImplemented(what: string): Refused {
    return this.#refused(501, `the fake does not know ${what}`);
  }

  #refused(status: number, message: string, more: object = {}): Refused {
    const answer: Answer = { status, body: { ...more, message, url: `${this.#origin()}/api/swagger` } };
    return new Refused(answer);
  }
}
