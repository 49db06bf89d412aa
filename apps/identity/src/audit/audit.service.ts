import { cutPage } from '../paging/keyset-page.ts';
import type { AuditFilter, AuditPlace, AuditRecord, AuditRepository } from './audit.repository.ts';

/** Reading the audit trail: for trusted backends, and for nobody to change. */
export class AuditService {
  readonly #repository: AuditRepository;

  constructor({ repository }: { repository: AuditRepository }) {
    this.#repository = repository;
  }

  async list(
    filter: AuditFilter,
    { limit, place }: { limit: number; place: AuditPlace | undefined },
  ): Promise<{ items: AuditRecord[]; end: AuditRecord | undefined }> {
    return cutPage(await this.#repository.list(filter, { limit: limit + 1, place }), limit);
  }
}
