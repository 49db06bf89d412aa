import type { IncomingMessage } from 'node:http';
import {
  passwordGrantSchema,
  refreshRequestSchema,
  revokeRequestSchema,
  type TokenResponse,
} from '@tessera/contracts';
import {
  abortSignalOf,
  bodyRead,
  type ConnectHandler,
  type DirectRoute,
  headersSetBy,
  isForm,
  type NodeHandler,
  originOf,
  parse,
  readBody,
  sendAnswer,
} from '@tessera/service-kit';
import cors from 'cors';
import { Router } from 'express';
import { oauthProblem } from '../oauth-error.ts';
import type { SignInService } from '../sign-in/sign-in.service.ts';
import { readParameters } from './oauth-parameters.ts';
import type { TokenService } from './token.service.ts';

interface TokenRouterOptions {
  signIns: SignInService;
  tokens: TokenService;
  corsOrigins: string[];
}

/** Long passwords cost nothing: what is larger than this is not read (OWASP, denial of service by password). */
const body = readBody({ limitBytes: 16 * 1024, form: true });

// RFC 6749 5.1
const noTokenCache: ConnectHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Pragma', 'no-cache');
  next();
};

/** identity-service.md 4.1 */
export function tokenRouter(options: TokenRouterOptions): Router {
  const { tokens } = options;
  const router = Router();
  router.use(['/token', '/token/refresh', '/token/revoke'], crossOrigin(options), noTokenCache);

  router.post('/token', body, answerSignIn(options));
  router.post('/token/refresh', body, answerRefresh(options));
  router.post('/token/revoke', body, async (request, response) => {
    const { token } = parse(revokeRequestSchema, readParameters(request));
    await tokens.revoke(token, originOf(request));
    response.json({});
  });

  return router;
}

/** Sign-in and refresh without Express; `protect` sets the headers that every answer has. */
export function directTokenRoutes(options: TokenRouterOptions, protect: ConnectHandler): DirectRoute[] {
  const common = {
    method: 'POST' as const,
    headers: headersSetBy(protect, crossOrigin(options), noTokenCache),
    variesByOrigin: true,
  };
  const afterBody = (answer: NodeHandler): NodeHandler => {
    return async (request, response) => {
      await bodyRead(body, request, response);
      await answer(request, response);
    };
  };
  return [
    { ...common, path: '/token', target: /^\/token$/, answer: afterBody(answerSignIn(options)) },
    {
      ...common,
      path: '/token/refresh',
      target: /^\/token\/refresh$/,
      answer: afterBody(answerRefresh(options)),
    },
  ];
}

function crossOrigin({ corsOrigins }: TokenRouterOptions) {
  return cors({ origin: corsOrigins, methods: ['POST'] });
}

function answerSignIn({ signIns }: TokenRouterOptions): NodeHandler {
  return async (request, response) => {
    const grant = readGrant(request);
    assertPasswordGrant(grant);
    const credentials = parse(passwordGrantSchema, grant);
    const issued = await signIns.signIn(credentials, originOf(request), abortSignalOf(response));
    sendAnswer(response, tokenAnswer(issued));
  };
}

function answerRefresh({ tokens }: TokenRouterOptions): NodeHandler {
  return async (request, response) => {
    const { refresh_token: presented } = parse(refreshRequestSchema, readParameters(request));
    sendAnswer(response, tokenAnswer(await tokens.refresh(presented, originOf(request))));
  };
}

function tokenAnswer(issued: TokenResponse) {
  return { status: 200, headers: {}, body: JSON.stringify(issued) };
}

// RFC 6749 4.3.2 names the parameter `username`; a form client may know no other name.
function readGrant(request: IncomingMessage): unknown {
  const parameters = readParameters(request);
  if (!isForm(request) || typeof parameters !== 'object' || parameters === null) return parameters;
  if ('email' in parameters || !('username' in parameters)) return parameters;
  return { ...parameters, email: parameters.username };
}

function assertPasswordGrant(grant: unknown): void {
  const type =
    typeof grant === 'object' && grant !== null && 'grant_type' in grant ? grant.grant_type : undefined;
  if (typeof type !== 'string' || type === '' || type === 'password') return;
  const hint = type === 'refresh_token' ? ' Refresh tokens are exchanged at /token/refresh.' : '';
  throw oauthProblem('unsupported_grant_type', `Only the password grant is supported here.${hint}`);
}
