import { passwordGrantSchema, refreshRequestSchema, revokeRequestSchema } from '@tessera/contracts';
import { abortSignalOf, originOf, parse, readBody } from '@tessera/service-kit';
import cors from 'cors';
import { type Request, type RequestHandler, Router } from 'express';
import { oauthProblem } from '../oauth-error.ts';
import type { SignInService } from '../sign-in/sign-in.service.ts';
import { isForm, readParameters } from './oauth-parameters.ts';
import type { TokenService } from './token.service.ts';

interface TokenRouterOptions {
  signIns: SignInService;
  tokens: TokenService;
  corsOrigins: string[];
}

/** Long passwords cost nothing: what is larger than this is not read (OWASP, denial of service by password). */
const body = readBody({ limitBytes: 16 * 1024, form: true });

// RFC 6749 5.1
const noTokenCache: RequestHandler = (_request, response, next) => {
  response.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
  next();
};

/** identity-service.md 4.1 */
export function tokenRouter({ signIns, tokens, corsOrigins }: TokenRouterOptions): Router {
  const router = Router();
  router.use(
    ['/token', '/token/refresh', '/token/revoke'],
    cors({ origin: corsOrigins, methods: ['POST'] }),
    noTokenCache,
  );

  router.post('/token', body, async (request, response) => {
    const grant = readGrant(request);
    assertPasswordGrant(grant);
    const credentials = parse(passwordGrantSchema, grant);
    response.json(await signIns.signIn(credentials, originOf(request), abortSignalOf(response)));
  });

  router.post('/token/refresh', body, async (request, response) => {
    const { refresh_token: presented } = parse(refreshRequestSchema, readParameters(request));
    response.json(await tokens.refresh(presented, originOf(request)));
  });

  router.post('/token/revoke', body, async (request, response) => {
    const { token } = parse(revokeRequestSchema, readParameters(request));
    await tokens.revoke(token, originOf(request));
    response.json({});
  });

  return router;
}

// RFC 6749 4.3.2 names the parameter `username`; a form client may know no other name.
function readGrant(request: Request): unknown {
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
