import type { AuditFilter, AuditPosition, AuditRecord, AuditRepository } from './audit.repository.ts';

/** Lists audit events for trusted backends. */
export class AuditService {
  readonly #repository: AuditRepository;

  constructor({ repository }: { repository: AuditRepository }) {
    this.#repository = repository;
  }

  /** Lists events newest first. */
  async list(
    filter: AuditFilter,
    page: { limit: number; after: AuditPosition | undefined },
  ): Promise<AuditRecord[]> {
    return this.#repository.list(filter, page);
  }
}
