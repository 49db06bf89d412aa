import { cutPage } from '../paging/keyset-page.ts';
import type { AuditFilter, AuditPosition, AuditRecord, AuditRepository } from './audit.repository.ts';

/** Lists audit events for trusted backends. */
export class AuditService {
  readonly #repository: AuditRepository;

  constructor({ repository }: { repository: AuditRepository }) {
    this.#repository = repository;
  }

  async list(
    filter: AuditFilter,
    { limit, after }: { limit: number; after: AuditPosition | undefined },
  ): Promise<{ items: AuditRecord[]; end: AuditRecord | undefined }> {
    return cutPage(await this.#repository.list(filter, { limit: limit + 1, after }), limit);
  }
}
