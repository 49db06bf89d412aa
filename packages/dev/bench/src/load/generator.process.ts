import type { LoadEvent, LoadOrder } from './load.ts';
import { LoadRun } from './load-run.ts';

// A separate process, so that the load costs neither the server nor the bench processor time.
const send = (event: LoadEvent) => process.send?.(event);

process.on('message', ({ id, load }: LoadOrder) => {
  new LoadRun(load)
    .run((event) => send({ id, event }))
    .then(
      (result) => send({ id, event: 'done', result }),
      (error: unknown) => send({ id, event: 'failed', message: String(error) }),
    );
});
// Ctrl-C reaches every process of a terminal. The bench stops this one.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());
