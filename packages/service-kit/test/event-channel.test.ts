import { expect, it } from '@jest/globals';
import pino from 'pino';
import { EventChannel } from '../src/database/event-channel.ts';

it('tries again without a database, and with a URL that names a missing certificate', async () => {
  for (const query of ['', '?sslrootcert=/missing.crt']) {
    const lines: string[] = [];
    let retried: () => void = () => undefined;
    const isRetried = new Promise<void>((resolve) => {
      retried = resolve;
    });
    const logger = pino({}, { write: (line: string) => lines.push(line) > 1 && retried() });
    const channel = new EventChannel({
      connectionString: `postgresql://a:b@127.0.0.1:9/c${query}`,
      applicationName: 'test',
      logger,
    });
    channel.start(() => undefined);
    channel.notify();
    await isRetried;
    await channel.stop();
    expect(lines.join('')).toContain(query === '' ? 'ECONNREFUSED' : 'ENOENT');
  }
});
