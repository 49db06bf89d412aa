import { ProblemError, type RequestOrigin } from '@tessera/service-kit';
import { identityNotFoundProblem } from '../identities/identity-not-found.ts';
import { cutPage } from '../paging/keyset-page.ts';
import type { SessionRepository } from './session.repository.ts';
import type { Session, SessionPlace } from './session.ts';

interface SessionServiceDependencies {
  repository: SessionRepository;
  sessionsValidAfter: Date;
}

/** What trusted backends may see and end of an identity's sessions. */
export class SessionService {
  readonly #repository: SessionRepository;
  readonly #sessionsValidAfter: Date;

  constructor({ repository, sessionsValidAfter }: SessionServiceDependencies) {
    this.#repository = repository;
    this.#sessionsValidAfter = sessionsValidAfter;
  }

  /** The live sessions, newest first. */
  async list(
    identityId: string,
    { limit, after }: { limit: number; after: SessionPlace | undefined },
  ): Promise<{ items: Session[]; end: Session | undefined }> {
    const rows = await this.#repository.list(identityId, {
      limit: limit + 1,
      after,
      sessionsValidAfter: this.#sessionsValidAfter,
    });
    if (rows === undefined) throw identityNotFoundProblem();
    return cutPage(rows, limit);
  }

  /** Ends one session; its access tokens end with their lifetime, as they do not say which session they are of. */
  async revoke(identityId: string, sessionId: string, origin: RequestOrigin): Promise<void> {
    const outcome = await this.#repository.revoke(
      { identityId, sessionId, sessionsValidAfter: this.#sessionsValidAfter },
      origin,
    );
    if (outcome === 'no_identity') throw identityNotFoundProblem();
    if (outcome === 'no_session') {
      throw new ProblemError({
        status: 404,
        code: 'session_not_found',
        detail: 'This identity has no such live session.',
      });
    }
  }

  /** Ends every session, and with them the access tokens that have been issued. */
  async revokeAll(identityId: string, origin: RequestOrigin): Promise<void> {
    if (!(await this.#repository.revokeAll(identityId, origin))) throw identityNotFoundProblem();
  }
}
