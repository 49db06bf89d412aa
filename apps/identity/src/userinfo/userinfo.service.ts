import type { AccessTokenClaims, UserInfo } from '@tessera/contracts';
import { InvalidTokenError } from '@tessera/jwt-verify';
import { isOlderThan } from '../tokens/own-token.ts';
import type { UserInfoRepository } from './userinfo.repository.ts';

/** What `WWW-Authenticate` names. */
export const realm = 'identity';

interface UserInfoDependencies {
  repository: UserInfoRepository;
  sessionsValidAfter: Date;
}

/** identity-service.md 4.1.4 */
export class UserInfoService {
  readonly #repository: UserInfoRepository;
  readonly #sessionsValidAfter: Date;

  constructor({ repository, sessionsValidAfter }: UserInfoDependencies) {
    this.#repository = repository;
    this.#sessionsValidAfter = sessionsValidAfter;
  }

  /** Refuses a token whose subject is gone or inactive, or whose sessions ended after it was issued. */
  async describe(claims: AccessTokenClaims): Promise<UserInfo> {
    const subject = await this.#repository.findSubject(claims.sub);
    if (subject === undefined) throw new InvalidTokenError('subject is not an active identity', realm);
    if (isOlderThan(this.#sessionsValidAfter, claims) || isOlderThan(subject.sessionsValidAfter, claims)) {
      throw new InvalidTokenError('token is older than the end of its sessions', realm);
    }
    return {
      sub: subject.id,
      email: subject.email,
      email_verified: subject.isVerified,
      preferred_username: subject.username,
    };
  }
}
