import type { AccessTokenClaims, RefreshTokenClaims } from '@tessera/contracts';
import {
  isOfEndedSession,
  type OwnTokenVerifiers,
  verifyOwnToken,
  wasIssuedBefore,
} from '../tokens/own-token.ts';
import type { AccessSubject, IntrospectionRepository, RefreshSubject } from './introspection.repository.ts';

/** A valid token and its subject from the database. */
export type ActiveToken =
  | { kind: 'access'; claims: AccessTokenClaims; subject: AccessSubject }
  | { kind: 'refresh'; claims: RefreshTokenClaims; subject: RefreshSubject };

interface IntrospectionDependencies extends OwnTokenVerifiers {
  repository: IntrospectionRepository;
  sessionsValidAfter: Date;
}

/** Token introspection for trusted backends (RFC 7662). */
export class IntrospectionService {
  readonly #dependencies: IntrospectionDependencies;

  constructor(dependencies: IntrospectionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns undefined for an inactive token. Introspecting a used refresh token does not count as reuse. */
  async introspect(presented: string): Promise<ActiveToken | undefined> {
    const token = await verifyOwnToken(this.#dependencies, presented);
    if (token === undefined) return undefined;
    return token.kind === 'access' ? this.#access(token.claims) : this.#refresh(token.claims);
  }

  async #access(claims: AccessTokenClaims): Promise<ActiveToken | undefined> {
    const { repository, sessionsValidAfter } = this.#dependencies;
    if (wasIssuedBefore(sessionsValidAfter, claims)) return undefined;
    const subject = await repository.findAccessSubject(claims.sub);
    if (subject === undefined || isOfEndedSession(subject, claims)) return undefined;
    return { kind: 'access', claims, subject };
  }

  async #refresh(claims: RefreshTokenClaims): Promise<ActiveToken | undefined> {
    const { repository, sessionsValidAfter } = this.#dependencies;
    const subject = await repository.findRefreshSubject(claims, sessionsValidAfter);
    return subject === undefined ? undefined : { kind: 'refresh', claims, subject };
  }
}
