import type { Logger } from '@tessera/service-kit';
import pg from 'pg';

interface EventChannelOptions {
  connectionString: string;
  applicationName: string;
  logger: Logger;
}

const channel = 'tessera_events';
const retryMinMs = 500;
const retryMaxMs = 30_000;
/** Interval of a statement that finds a lost connection, in milliseconds. */
const checkMs = 30_000;

/**
 * Sends and receives empty notifications of PostgreSQL on a connection of its own, and connects again when it is lost.
 * Nothing waits for it: without a connection, notifications are not sent. A NOTIFY in the transaction of a change would
 * take a lock on the whole database at commit.
 */
export class EventChannel {
  readonly #options: EventChannelOptions;
  #onNotified: () => void = () => undefined;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = retryMinMs;
  #isSending = false;
  #mustSendAgain = false;
  #isStopped = false;

  constructor(options: EventChannelOptions) {
    this.#options = options;
  }

  /** Connects in the background. `onNotified` is called for notifications of other connections, and after each connect. */
  start(onNotified: () => void): void {
    this.#onNotified = onNotified;
    void this.#connect();
  }

  /** Notifies the other processes, if there is a connection. */
  notify(): void {
    this.#mustSendAgain = true;
    if (!this.#isSending && this.#client !== undefined) void this.#send(this.#client);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    let client: pg.Client | undefined;
    try {
      // Reads the certificates that the URL names.
      client = this.#createClient();
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      this.#reconnect(client, error);
      return;
    }
    if (this.#isStopped) {
      await client.end().catch(() => undefined);
      return;
    }
    this.#client = client;
    this.#retryMs = retryMinMs;
    this.#scheduleCheck(client);
    // Notifications may have been missed.
    this.#onNotified();
  }

  #createClient(): pg.Client {
    const client = new pg.Client({
      connectionString: this.#options.connectionString,
      application_name: this.#options.applicationName,
      connectionTimeoutMillis: 2_000,
      query_timeout: 5_000,
      keepAlive: true,
    });
    // The error of a lost connection; without a listener, it would end the process.
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the connection ended')));
    client.on('notification', ({ processId }) => {
      if (processId !== processIdOf(client)) this.#onNotified();
    });
    return client;
  }

  async #send(client: pg.Client): Promise<void> {
    this.#isSending = true;
    try {
      while (this.#mustSendAgain && client === this.#client) {
        this.#mustSendAgain = false;
        await client.query(`NOTIFY ${channel}`);
      }
    } catch (error) {
      this.#lose(client, error);
    } finally {
      this.#isSending = false;
    }
  }

  #scheduleCheck(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      client.query(`LISTEN ${channel}`).then(
        () => client === this.#client && this.#scheduleCheck(client),
        (error: unknown) => this.#lose(client, error),
      );
    }, checkMs);
    this.#timer.unref();
  }

  #lose(client: pg.Client, error: unknown): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#reconnect(client, error);
  }

  #reconnect(client: pg.Client | undefined, error: unknown): void {
    clearTimeout(this.#timer);
    client?.end().catch(() => undefined);
    if (this.#isStopped) return;
    this.#options.logger.warn({ err: error }, 'no connection for notifications of events');
    // With jitter, so that the replicas do not connect together.
    this.#timer = setTimeout(() => void this.#connect(), this.#retryMs * (0.5 + Math.random()));
    this.#timer.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, retryMaxMs);
  }
}

// `pg` sets the member, which its types omit.
function processIdOf(client: pg.Client): unknown {
  return Reflect.get(client, 'processID');
}
