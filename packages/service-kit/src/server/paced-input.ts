import type { Server } from 'node:http';
import type { Socket } from 'node:net';

// Node parses all bytes of a read (at most 64 KiB) before other code runs. They can contain 2,500 requests or 11,000
// chunks of a body, which take 25 ms, even if the first request closes the connection.
const firstPartBytes = 2_048;
const maxPartBytes = 8_192;
const partsMs = 1;

interface PacedInputOptions {
  /** Whether no response follows, so the rest of the input is dropped. */
  isClosing: (socket: Socket) => boolean;
  /**
   * Whether requests of the connection wait. Then the rest of the input stays unparsed until `resume` is called, because a
   * parsed request takes ten times the memory of its bytes.
   */
  isHeld: (socket: Socket, resume: () => void) => boolean;
}

/**
 * Parses the input of a server's connections in parts. Ordinary requests are parsed at once. If a read takes longer
 * than a millisecond, its connection waits; each iteration of the event loop continues one waiting connection. Costs 5 µs
 * per request, because Node parses faster if JavaScript does not see the bytes.
 */
export function paceInput(server: Server, { isClosing, isHeld }: PacedInputOptions): void {
  const waiting: (() => void)[] = [];
  const takeTurns = () => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(takeTurns);
  };
  const waitForTurn = (parse: () => void) => {
    if (waiting.push(parse) === 1) setImmediate(takeTurns);
  };
  server.on('connection', (socket: Socket) => {
    // Node's listener. If another listener exists, Node passes the bytes to JavaScript before it parses them.
    const [parse] = socket.listeners('data');
    if (parse === undefined) return;
    let rest: Buffer | undefined;
    let startedAt = 0;
    let isWaiting = false;
    const pause = () => {
      isWaiting = true;
      socket.pause();
    };
    const resume = () => {
      isWaiting = false;
      startedAt = performance.now();
      socket.resume();
    };
    const wait = () => {
      pause();
      waitForTurn(resume);
    };
    const parseParts = () => {
      // Parts of an ordinary body are cheap, so the size increases.
      for (let partBytes = firstPartBytes; rest !== undefined; partBytes = maxPartBytes) {
        if (socket.destroyed || isClosing(socket)) rest = undefined;
        // Node pauses the socket while a body or a response is not read, and does not parse meanwhile.
        else if (isWaiting || socket.isPaused()) return;
        else if (isHeld(socket, resume)) pause();
        else if (performance.now() - startedAt > partsMs) wait();
        else {
          const bytes: Buffer = rest;
          rest = bytes.length > partBytes ? bytes.subarray(partBytes) : undefined;
          parse.call(socket, bytes.subarray(0, partBytes));
        }
      }
    };
    socket.on('data', (bytes: Buffer) => {
      startedAt = performance.now();
      rest = rest === undefined ? bytes : Buffer.concat([rest, bytes]);
      if (bytes.length > firstPartBytes && waiting.length > 0) wait();
      parseParts();
    });
    socket.off('data', parse as () => void);
    // Node resumes the socket when a body is read or a response has ended.
    socket.on('resume', () => {
      if (isWaiting) socket.pause();
      else parseParts();
    });
  });
}
