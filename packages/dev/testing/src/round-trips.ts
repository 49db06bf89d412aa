import { type ClientMessage, startPostgresProxy } from './postgres-proxy.ts';

/** The messages that a client sent before it waited for an answer. */
export interface RoundTrip {
  /** The `application_name` of its connection. */
  application: string;
  /** The text of each executed statement. */
  statements: string[];
  /** The number of statements that PostgreSQL parsed and planned; it plans no BEGIN and no COMMIT. */
  parsed: number;
}

export interface RoundTripRecorder {
  /** The URL of the database through the recorder. */
  url: string;
  /** The round trips during the work, without those in the background. */
  during: (work: () => PromiseLike<unknown>) => Promise<RoundTrip[]>;
  /** The round trips of the work on connections that have already done it twice. */
  warmed: (work: () => PromiseLike<unknown>) => Promise<RoundTrip[]>;
  close: () => Promise<void>;
}

/**
 * Whether statements signal or process events, send webhooks, or check a new connection. They run in the background, at random
 * times.
 */
export function isInBackground(application: string, ...statements: string[]): boolean {
  return (
    application.endsWith(' events') ||
    statements.some((text) => /event_readers|UPDATE webhook_deliveries|pg_is_in_recovery/.test(text))
  );
}

/** Records the messages between any library and a PostgreSQL database. */
export async function startRoundTripRecorder(databaseUrl: string): Promise<RoundTripRecorder> {
  const recorded: RoundTrip[] = [];
  let connections = 0;
  const proxy = await startPostgresProxy(databaseUrl, (forward) => {
    connections += 1;
    const record = roundTripReader((trip) => recorded.push(trip));
    return (message) => {
      record(message);
      forward(message.bytes);
    };
  });
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  const during = async (work: () => PromiseLike<unknown>) => {
    const begin = recorded.length;
    await work();
    return recorded
      .slice(begin)
      .filter(({ application, statements }) => !isInBackground(application, ...statements));
  };
  return {
    url: url.href,
    during,
    warmed: async (work) => {
      for (let attempt = 1; ; attempt += 1) {
        const before = connections;
        await work();
        await work();
        const trips = await during(work);
        // A pool closes idle connections; on a slow machine this can happen between two requests.
        if (connections === before || attempt === 3) return trips;
      }
    },
    close: proxy.close,
  };
}

// PostgreSQL, "Extended Query": Parse names a statement text, Bind selects a name, Execute runs it, Sync requests the
// answer. A simple query does all of that in one message.
function roundTripReader(record: (trip: RoundTrip) => void): (message: ClientMessage) => void {
  const texts = new Map<string, string>();
  let application = '';
  let bound = '';
  let statements: string[] = [];
  let parsed = 0;
  const end = () => {
    record({ application, statements, parsed });
    statements = [];
    parsed = 0;
  };
  return ({ type, texts: [first = '', second = '', ...others] }) => {
    if (type === '') application = applicationOf([first, second, ...others]);
    if (type === 'P') {
      texts.set(first, second);
      parsed += 1;
    }
    if (type === 'B') bound = texts.get(second) ?? '';
    if (type === 'E') statements.push(bound);
    if (type === 'S') end();
    if (type === 'Q') {
      statements.push(first);
      if (!/^(BEGIN|COMMIT|ROLLBACK)\b/.test(first)) parsed += 1;
      end();
    }
  };
}

/** The `application_name` in the texts of a startup message. */
export function applicationOf(pairs: string[]): string {
  const index = pairs.indexOf('application_name');
  return index < 0 ? '' : (pairs[index + 1] ?? '');
}

/** The totals of some round trips. */
export interface DatabaseUse {
  statements: number;
  roundTrips: number;
  parsed: number;
}

/** Adds up round trips. */
export function databaseUse(trips: readonly RoundTrip[]): DatabaseUse {
  return {
    statements: trips.reduce((sum, trip) => sum + trip.statements.length, 0),
    roundTrips: trips.length,
    parsed: trips.reduce((sum, trip) => sum + trip.parsed, 0),
  };
}
