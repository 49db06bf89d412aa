import { ProblemError, type RequestOrigin } from '@tessera/service-kit';
import { identityNotFoundProblem } from '../identity-not-found.ts';
import type { SessionRepository } from './session.repository.ts';
import type { Session, SessionPosition } from './session.ts';

interface SessionServiceDependencies {
  repository: SessionRepository;
  sessionsValidAfter: Date;
}

/** Lists and revokes the sessions of an identity, for trusted backends. */
export class SessionService {
  readonly #repository: SessionRepository;
  readonly #sessionsValidAfter: Date;

  constructor({ repository, sessionsValidAfter }: SessionServiceDependencies) {
    this.#repository = repository;
    this.#sessionsValidAfter = sessionsValidAfter;
  }

  /** Lists active sessions, newest first. */
  async list(
    identityId: string,
    page: { limit: number; after: SessionPosition | undefined },
  ): Promise<Session[]> {
    const sessionsValidAfter = this.#sessionsValidAfter;
    const sessions = await this.#repository.list(identityId, { ...page, sessionsValidAfter });
    if (sessions === undefined) throw identityNotFoundProblem();
    return sessions;
  }

  /** Revokes one session. Its access tokens stay valid until they expire, because they do not name their session. */
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
        detail: 'Active session not found for this identity.',
      });
    }
  }

  /** Revokes every session and every issued access token. */
  async revokeAll(identityId: string, origin: RequestOrigin): Promise<void> {
    if (!(await this.#repository.revokeAll(identityId, origin))) throw identityNotFoundProblem();
  }
}
