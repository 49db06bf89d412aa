import { ErrorResponse, type TrackerResponse } from '../server/exchange.ts';

/** Gitea's errors: a message, and the URL of the API documentation. */
export class GiteaErrors {
  readonly #origin: () => string;

  constructor(origin: () => string) {
    this.#origin = origin;
  }

  notFound(): ErrorResponse {
    return this.#refused(404, "The target couldn't be found.", { errors: [] });
  }

  noSuchUser(login: string): ErrorResponse {
    return this.#refused(404, "The target couldn't be found.", {
      errors: [`user does not exist [uid: 0, name: ${login}]`],
    });
  }

  tokenRequired(): ErrorResponse {
    return this.#refused(401, 'token is required');
  }

  badToken(): ErrorResponse {
    return this.#refused(401, 'invalid username, password or token');
  }

  // Gitea's routers/api/v1/api.go, tokenRequiresScopes.
  scopeMissing(): ErrorResponse {
    return this.#refused(
      403,
      'token does not have at least one of required scope(s), required=[write:issue], token scope=read:issue',
    );
  }

  required(field: string): ErrorResponse {
    return this.#refused(422, `[${field}]: Required`);
  }

  unreadable(): ErrorResponse {
    return this.#refused(422, '[]: invalid character');
  }

  mixedLabels(): ErrorResponse {
    return this.#refused(400, 'labels should be an array of strings or integers');
  }

  noSuchLabel(id: number): ErrorResponse {
    return this.#refused(422, `label does not exist [label_id: ${id}]`);
  }

  unknownState(state: string): ErrorResponse {
    return this.#refused(412, `unknown state: ${state}`);
  }

  alreadyChanged(): ErrorResponse {
    return this.#refused(409, 'the issue is already changed');
  }

  /** A 501 for a parameter that Gitea has or ignores and the fake does not implement, so that no test relies on it. */
  notImplemented(what: string): ErrorResponse {
    return this.#refused(501, `the fake does not implement ${what}`);
  }

  #refused(status: number, message: string, more: object = {}): ErrorResponse {
    const response: TrackerResponse = {
      status,
      body: { ...more, message, url: `${this.#origin()}/api/swagger` },
    };
    return new ErrorResponse(response);
  }
}
