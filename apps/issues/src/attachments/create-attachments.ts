import { type Logger, type Metrics, ProblemError } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { IssueWriter } from '../issue-store/write.ts';
import { RequestShares } from '../rate-limit/request-shares.ts';
import { AttachmentRepository } from './attachment.repository.ts';
import { AttachmentService } from './attachment.service.ts';
import { storeOf } from './blob-store.ts';
import { BlobWorker } from './blob-worker.ts';
import { createStores, type StoresConfig } from './create-stores.ts';
import { StoreMonitor } from './store-monitor.ts';

interface Collaborators {
  database: Database;
  reader: IssueReader;
  writer: IssueWriter;
  metrics: Metrics;
  logger: Logger;
}

/** Creates the stores of files and what uses them. */
export function createAttachments(config: StoresConfig, collaborators: Collaborators) {
  const { database, reader, writer, metrics, logger } = collaborators;
  const stores = createStores(config, database);
  const store = storeOf(stores, config.name);
  const monitor = new StoreMonitor(store, logger);
  monitor.start();
  const repository = new AttachmentRepository(database);
  const bytes = metrics.gauge(
    'issues_attachment_bytes',
    'What the files of a store count: their bytes, at least 64 KiB each.',
    ['store'],
    async () => {
      const usage = await repository.usage().catch(() => []);
      for (const used of usage) bytes.set({ store: used.store }, used.bytes);
    },
  );
  const isUp = metrics.gauge(
    'issues_attachment_store_up',
    '1 if the store of new files works, 0 during an outage.',
    [],
    () => {
      isUp.set(monitor.isDown ? 0 : 1);
    },
  );
  return {
    monitor,
    repository,
    service: new AttachmentService({ database, repository, reader, writer, stores, store }),
    worker: new BlobWorker({ database, stores, logger }),
    transfers: {
      uploads: transfersOf({ perPerson: 3, max: 8 }),
      downloads: transfersOf({ perPerson: 16, max: 32 }),
    },
  };
}

/** Limits the transfers of a person and of the process: each takes up to a megabyte of memory. Others wait a short time. */
function transfersOf({ perPerson, max }: { perPerson: number; max: number }): Pick<RequestShares, 'enter'> {
  const problem = () =>
    new ProblemError({
      status: 429,
      code: 'too_many_uploads',
      detail: `At most ${perPerson} transfers of a person and ${max} in total at the same time.`,
      headers: { 'Retry-After': '5' },
    });
  const people = new RequestShares({ max: perPerson, problem });
  const all = new RequestShares({ max, problem });
  return {
    enter: async (person, response) => {
      await people.enter(person, response);
      await all.enter('', response);
    },
  };
}
