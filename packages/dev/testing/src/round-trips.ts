import { type ClientMessage, startPostgresProxy } from './postgres-proxy.ts';

/** What a client sent to PostgreSQL before it had to wait for an answer. */
export interface RoundTrip {
  /** The `application_name` of its connection. */
  application: string;
  /** The text of each statement that was carried out. */
  statements: string[];
  /** How many of them PostgreSQL had to parse and plan for it. */
  parsed: number;
}

export interface RoundTripRecorder {
  /** The given database, on the way to which everything is recorded. */
  url: string;
  /** What was sent while something was done. */
  during: (work: () => PromiseLike<unknown>) => Promise<RoundTrip[]>;
  /** What is sent for something on connections that have carried it twice before. */
  warmed: (work: () => PromiseLike<unknown>) => Promise<RoundTrip[]>;
  close: () => Promise<void>;
}

/** Records what really crosses the wire to a PostgreSQL database, whichever library sends it. */
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
    return recorded.slice(begin);
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
        // A pool gives an idle connection up after a while: on a slow machine that may be between two requests.
        if (connections === before || attempt === 3) return trips;
      }
    },
    close: proxy.close,
  };
}

// PostgreSQL, "Extended Query": Parse names a text, Bind picks a name, Execute carries out, Sync asks for the answer. A
// simple query is all of that in one message.
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
    if (type === '') application = parameterOf([first, second, ...others], 'application_name');
    if (type === 'P') {
      texts.set(first, second);
      parsed += 1;
    }
    if (type === 'B') bound = texts.get(second) ?? '';
    if (type === 'E') statements.push(bound);
    if (type === 'S') end();
    if (type === 'Q') {
      statements.push(first);
      parsed += 1;
      end();
    }
  };
}

function parameterOf(pairs: string[], name: string): string {
  const index = pairs.indexOf(name);
  return index < 0 ? '' : (pairs[index + 1] ?? '');
}

/** How often PostgreSQL was asked, and for what. */
export interface DatabaseUse {
  statements: number;
  roundTrips: number;
  parsed: number;
}

/** The sums of round trips. */
export function databaseUse(trips: readonly RoundTrip[]): DatabaseUse {
  return {
    statements: trips.reduce((sum, trip) => sum + trip.statements.length, 0),
    roundTrips: trips.length,
    parsed: trips.reduce((sum, trip) => sum + trip.parsed, 0),
  };
}
