import { type TokenVerifier, verifyRequest } from '@tessera/jwt-verify';
import {
  type ConnectHandler,
  type DirectRoute,
  headersSetBy,
  type NodeHandler,
  sendAnswer,
} from '@tessera/service-kit';
import cors from 'cors';
import { Router } from 'express';
import { realm, type UserInfoService } from './userinfo.service.ts';

interface UserInfoOptions {
  verifier: TokenVerifier<'access'>;
  userInfo: UserInfoService;
  corsOrigins: string[];
}

const userInfoPath = '/userinfo';

/** identity-service.md 4.1; POST besides GET, as OpenID Connect Core 5.3.1 wants. */
export function userInfoRouter(options: UserInfoOptions): Router {
  const router = Router();
  const answer = answerUserInfo(options);
  router.use(userInfoPath, crossOrigin(options));
  router.get(userInfoPath, answer);
  router.post(userInfoPath, answer);
  return router;
}

/** The same GET without Express; `protect` sets the headers that every answer has. */
export function directUserInfo(options: UserInfoOptions, protect: ConnectHandler): DirectRoute {
  return {
    method: 'GET',
    path: userInfoPath,
    target: /^\/userinfo$/,
    headers: headersSetBy(protect, crossOrigin(options)),
    variesByOrigin: true,
    answer: answerUserInfo(options),
  };
}

function crossOrigin({ corsOrigins }: UserInfoOptions) {
  return cors({ origin: corsOrigins, methods: ['GET', 'POST'] });
}

function answerUserInfo({ verifier, userInfo }: UserInfoOptions): NodeHandler {
  return async (request, response) => {
    const described = await userInfo.describe(await verifyRequest(request, verifier, { realm }));
    sendAnswer(response, { status: 200, headers: {}, body: JSON.stringify(described) });
  };
}
