import { expect, it } from '@jest/globals';
import { createLogger } from '@tessera/service-kit';
import { EventChannel } from '../src/events/event-channel.ts';

it('tries again without a database, and with a URL that names a missing certificate', async () => {
  for (const query of ['', '?sslrootcert=/missing.crt']) {
    const lines: string[] = [];
    let retried: () => void = () => undefined;
    const isRetried = new Promise<void>((resolve) => {
      retried = resolve;
    });
    const destination = { write: (line: string) => void (lines.push(line) > 1 && retried()) };
    const logger = createLogger({ service: 'issues', level: 'info', destination });
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
