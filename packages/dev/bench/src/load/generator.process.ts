import type { LoadNews, LoadOrder } from './load.ts';
import { LoadRun } from './load-run.ts';

// A process of its own, so that what the load costs is not the server's, nor the bench's.
const tell = (news: LoadNews) => process.send?.(news);

process.on('message', ({ id, load }: LoadOrder) => {
  new LoadRun(load)
    .run((event) => tell({ id, event }))
    .then(
      (result) => tell({ id, event: 'done', result }),
      (error: unknown) => tell({ id, event: 'failed', message: String(error) }),
    );
});
// Ctrl-C reaches every process of the terminal; the bench ends this one in its turn.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());
