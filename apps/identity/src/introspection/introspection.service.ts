import type { AccessTokenClaims, RefreshTokenClaims } from '@tessera/contracts';
import { isOlderThan, type OwnTokenVerifiers, readOwnToken } from '../tokens/own-token.ts';
import type { AccessSubject, IntrospectionRepository, RefreshSubject } from './introspection.repository.ts';

/** A token that can be used now, with what the database knows of it. */
export type ActiveToken =
  | { kind: 'access'; claims: AccessTokenClaims; subject: AccessSubject }
  | { kind: 'refresh'; claims: RefreshTokenClaims; subject: RefreshSubject };

interface IntrospectionDependencies extends OwnTokenVerifiers {
  repository: IntrospectionRepository;
  sessionsValidAfter: Date;
}

/** RFC 7662, for trusted backends: is this token good at this moment? */
export class IntrospectionService {
  readonly #dependencies: IntrospectionDependencies;

  constructor(dependencies: IntrospectionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Undefined for whatever is not active. Looking changes nothing: a spent refresh token is no reuse here. */
  async introspect(presented: string): Promise<ActiveToken | undefined> {
    const token = await readOwnToken(this.#dependencies, presented);
    if (token === undefined) return undefined;
    return token.kind === 'access' ? this.#access(token.claims) : this.#refresh(token.claims);
  }

  async #access(claims: AccessTokenClaims): Promise<ActiveToken | undefined> {
    const { repository, sessionsValidAfter } = this.#dependencies;
    if (isOlderThan(sessionsValidAfter, claims)) return undefined;
    const subject = await repository.findAccessSubject(claims.sub);
    if (subject === undefined || isOlderThan(subject.sessionsValidAfter, claims)) return undefined;
    return { kind: 'access', claims, subject };
  }

  async #refresh(claims: RefreshTokenClaims): Promise<ActiveToken | undefined> {
    const { repository, sessionsValidAfter } = this.#dependencies;
    const subject = await repository.findRefreshSubject(claims.jti, sessionsValidAfter);
    return subject === undefined ? undefined : { kind: 'refresh', claims, subject };
  }
}
