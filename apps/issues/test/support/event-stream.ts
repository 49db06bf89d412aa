import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestPerson } from './people.ts';

export const streamPath = '/api/v1/events/stream/';

/** An event of a stream, as a browser would get it. */
export interface ReceivedEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

export interface OpenedStream {
  response: IncomingMessage;
  events: ReceivedEvent[];
  /** All received text. */
  text: () => string;
  /** The id that a browser would send when it reconnects. */
  lastId: () => string;
  /** Resolves when a number of events was received in total. */
  until: (count: number) => Promise<ReceivedEvent[]>;
  /** Resolves when the response has ended. */
  ended: Promise<unknown>;
  close: () => void;
}

/** A token, or the headers of a browser with a session. */
type StreamCaller = Pick<TestPerson, 'token'> | { headers: Record<string, string> };

interface StreamOptions {
  query?: string;
  lastEventId?: string;
}

/** Opens a stream of events and parses it (HTML standard, 9.2.6). Resolves when the response begins. */
export async function openStream(
  url: string,
  caller: StreamCaller,
  { query = '', lastEventId }: StreamOptions = {},
): Promise<OpenedStream> {
  const path = 'token' in caller ? streamPath : `/app${streamPath}`;
  const request = get(`${url}${path}${query}`, {
    agent: false,
    headers: {
      ...('token' in caller ? { Authorization: `Bearer ${caller.token}` } : caller.headers),
      ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }),
    },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const events: ReceivedEvent[] = [];
  let [text, rest, lastId] = ['', '', lastEventId ?? ''];
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    const blocks = `${rest}${chunk}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => {
          const [name = '', ...value] = line.split(': ');
          return [name, value.join(': ')];
        }),
      );
      lastId = fields.get('id') ?? lastId;
      const data = fields.get('data');
      if (data !== undefined)
        events.push({ id: lastId, type: fields.get('event') ?? 'message', data: JSON.parse(data) });
    }
  });
  // A connection that is reset is the end of a stream too.
  const ended = new Promise<void>((resolve) => {
    response.once('close', () => resolve());
    response.on('error', () => resolve());
  });
  request.on('error', () => undefined);
  const until = async (count: number) => {
    while (events.length < count) {
      const isOver = await Promise.race([
        once(response, 'data').then(
          () => false,
          () => true,
        ),
        ended.then(() => true),
      ]);
      if (isOver && events.length < count) throw new Error(`the stream ended after: ${text}`);
    }
    return events.slice(0, count);
  };
  return {
    response,
    events,
    text: () => text,
    lastId: () => lastId,
    until,
    ended,
    close: () => request.destroy(),
  };
}

/** Opens a stream and waits until it has sent its position. */
export async function openReady(
  url: string,
  person: StreamCaller,
  options?: StreamOptions,
): Promise<OpenedStream> {
  const stream = await openStream(url, person, options);
  while (stream.response.statusCode === 200 && !stream.text().includes('\nid: '))
    await once(stream.response, 'data');
  return stream;
}

/**
 * Collects the events after a cursor. Disconnects after every 40 events, or after a time without one, and resumes at the
 * next address, until the event with the id `last()` was received.
 */
export async function collectEvents(
  urls: readonly string[],
  person: Pick<TestPerson, 'token'>,
  { from, last }: { from: string; last: () => number | undefined },
): Promise<ReceivedEvent[]> {
  const received: ReceivedEvent[] = [];
  for (let [turn, lastEventId] = [0, from]; received.at(-1)?.data.id !== (last() ?? -1); turn += 1) {
    const stream = await openStream(urls[turn % urls.length] ?? '', person, { lastEventId }).catch(
      // The process was killed.
      () => undefined,
    );
    if (stream === undefined) continue;
    await Promise.race([stream.until(40).catch(() => undefined), stream.ended, pause(500)]);
    stream.close();
    await stream.ended;
    received.push(...stream.events);
    lastEventId = stream.lastId();
  }
  return received;
}
