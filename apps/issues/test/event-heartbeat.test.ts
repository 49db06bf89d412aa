import { expect, it, jest } from '@jest/globals';
import { openReady } from './support/event-stream.ts';
import { aPerson } from './support/people.ts';
import { startTestApp } from './support/test-app.ts';

it('a stream without events sends its position as a heartbeat', async () => {
  const app = await startTestApp();
  try {
    const stream = await openReady(app.url, await aPerson(app));
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 25_000);
    await stream.until(1);
    expect(stream.text()).toMatch(/\n\n:\nid: \S+\nevent: heartbeat\ndata: \{\}\n\n$/);
    clock.mockImplementation(() => now() + 50_000);
    await stream.until(2);
    expect(stream.events.map(({ type, id }) => [type, id !== ''])).toEqual([
      ['heartbeat', true],
      ['heartbeat', true],
    ]);
    stream.close();
  } finally {
    jest.restoreAllMocks();
    await app.close();
  }
});
