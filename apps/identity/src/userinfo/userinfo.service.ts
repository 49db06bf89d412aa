import type { AccessTokenClaims, UserInfo } from '@tessera/contracts';
import { InvalidTokenError } from '@tessera/jwt-verify';
import { isOfEndedSession, wasIssuedBefore } from '../tokens/own-token.ts';
import type { UserInfoRepository } from './userinfo.repository.ts';

/** The realm in `WWW-Authenticate`. */
export const realm = 'identity';

interface UserInfoDependencies {
  repository: UserInfoRepository;
  sessionsValidAfter: Date;
}

/** docs/spec/identity-service.md 4.1.4 */
export class UserInfoService {
  readonly #repository: UserInfoRepository;
  readonly #sessionsValidAfter: Date;

  constructor({ repository, sessionsValidAfter }: UserInfoDependencies) {
    this.#repository = repository;
    this.#sessionsValidAfter = sessionsValidAfter;
  }

  /** Throws if the subject is deleted or inactive, or if its sessions ended after the token was issued. */
  async get(claims: AccessTokenClaims): Promise<UserInfo> {
    const subject = await this.#repository.findSubject(claims.sub);
    if (subject === undefined) throw new InvalidTokenError('subject is not an active identity', realm);
    if (wasIssuedBefore(this.#sessionsValidAfter, claims) || isOfEndedSession(subject, claims)) {
      throw new InvalidTokenError('token was issued before its sessions ended', realm);
    }
    return {
      sub: subject.id,
      email: subject.email,
      email_verified: subject.isVerified,
      preferred_username: subject.username,
      ...(subject.displayName === null ? {} : { name: subject.displayName }),
    };
  }
}
