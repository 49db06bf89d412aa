import type { Logger } from '@tessera/service-kit';

interface ServiceTokensOptions {
  serviceToken: string;
  /** Tried once where identity refuses the other, so that a rotation may begin on either side. */
  previousServiceToken?: string | undefined;
  logger: Logger;
}

/** Our service token, in both its values during a rotation. */
export class ServiceTokens {
  readonly #logger: Logger;
  readonly #values: readonly { variable: string; token: string }[];
  /** The one that identity took last. */
  #presented: string;

  constructor({ serviceToken, previousServiceToken = serviceToken, logger }: ServiceTokensOptions) {
    this.#logger = logger;
    this.#presented = serviceToken;
    this.#values = [
      { variable: 'SERVICE_TOKEN', token: serviceToken },
      { variable: 'SERVICE_TOKEN_PREVIOUS', token: previousServiceToken },
    ];
  }

  /**
   * Sends a request, and once more with the other value where it is answered 403: identity refuses a token before it
   * reads the request (identity-service.md 5.1), so nothing was done and whatever it was may be sent again.
   */
  async send<Reply extends { status: number }>(request: (token: string) => Promise<Reply>): Promise<Reply> {
    const presented = this.#presented;
    const reply = await request(presented);
    const other = this.#values.find(({ token }) => token !== presented);
    if (reply.status !== 403 || other === undefined) return reply;
    const second = await request(other.token);
    if (second.status !== 401 && second.status !== 403 && this.#presented !== other.token) {
      this.#presented = other.token;
      this.#logger.warn(
        { variable: other.variable },
        'identity takes our other service token: sent from now on',
      );
    }
    return second;
  }
}
