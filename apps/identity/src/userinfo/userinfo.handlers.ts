import type { AccessTokenClaims, getUserInfo } from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { UserInfoService } from './userinfo.service.ts';

/** Handlers of the userinfo endpoint (identity-service.md 4.1.4). */
export function userInfoHandlers(userInfo: UserInfoService) {
  const get: Handler<typeof getUserInfo, AccessTokenClaims> = async ({ actor }) => ({
    status: 200,
    body: await userInfo.get(actor),
  });

  return { get };
}
