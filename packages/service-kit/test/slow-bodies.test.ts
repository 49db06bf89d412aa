import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it, jest } from '@jest/globals';
import { SlowBodies } from '../src/server/slow-bodies.ts';

const withBody = (more: object = {}) =>
  Object.assign(new IncomingMessage(new Socket()), { headers: { 'content-length': '9' } }, more);

it('gives a body its time, and a file the time that its bytes earn', () => {
  jest.useFakeTimers();
  try {
    const refused: unknown[] = [];
    const slow = new SlowBodies(15_000, (error, socket) => refused.push([error.code, socket]));
    const pace = { bytesPerSecond: 16_384, arrived: 16_384 * 10 };
    const [plain, file, read] = [withBody(), withBody({ pace }), withBody()];
    for (const request of [plain, file, read, new IncomingMessage(new Socket())]) slow.watch(request);
    read.emit('end');
    jest.advanceTimersByTime(15_000);
    expect(refused).toEqual([]);
    jest.advanceTimersByTime(3_000);
    expect(refused).toEqual([['ERR_HTTP_REQUEST_TIMEOUT', plain.socket]]);
    pace.arrived += 16_384 * 20;
    jest.advanceTimersByTime(25_000);
    expect(refused).toHaveLength(1);
    jest.advanceTimersByTime(5_000);
    expect(refused.at(-1)).toEqual(['ERR_HTTP_REQUEST_TIMEOUT', file.socket]);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});
