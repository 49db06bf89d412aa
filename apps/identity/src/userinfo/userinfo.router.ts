import type { TokenVerifier } from '@tessera/jwt-verify';
import { accessTokenOf, requireAccessToken } from '@tessera/jwt-verify/express';
import { noStore } from '@tessera/service-kit';
import cors from 'cors';
import { type RequestHandler, Router } from 'express';
import { realm, type UserInfoService } from './userinfo.service.ts';

interface UserInfoRouterOptions {
  verifier: TokenVerifier<'access'>;
  userInfo: UserInfoService;
  corsOrigins: string[];
}

/** identity-service.md 4.1; POST besides GET, as OpenID Connect Core 5.3.1 wants. */
export function userInfoRouter({ verifier, userInfo, corsOrigins }: UserInfoRouterOptions): Router {
  const router = Router();
  router.use('/userinfo', cors({ origin: corsOrigins, methods: ['GET', 'POST'] }), noStore);
  const authenticated = requireAccessToken(verifier, { realm });
  const answer: RequestHandler = async (_request, response) => {
    response.json(await userInfo.describe(accessTokenOf(response)));
  };
  router.get('/userinfo', authenticated, answer);
  router.post('/userinfo', authenticated, answer);
  return router;
}
