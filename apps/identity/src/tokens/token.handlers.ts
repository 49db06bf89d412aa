import type { IncomingMessage } from 'node:http';
import type { refreshTokens, revokeToken, signIn } from '@tessera/contracts';
import { abortSignalOf, type Handler, isForm, originOf } from '@tessera/service-kit';
import { oauthProblem } from '../oauth.ts';
import type { SignInService } from '../sign-in/sign-in.service.ts';
import type { TokenService } from './token.service.ts';

/** Handlers of the token endpoints (identity-service.md 4.1). */
export function tokenHandlers({ signIns, tokens }: { signIns: SignInService; tokens: TokenService }) {
  const issue: Handler<typeof signIn> = async ({ body, request, response }) => ({
    status: 200,
    body: await signIns.signIn(body, originOf(request), abortSignalOf(response)),
  });

  const refresh: Handler<typeof refreshTokens> = async ({ body, request }) => ({
    status: 200,
    body: await tokens.refresh(body.refresh_token, originOf(request)),
  });

  const revoke: Handler<typeof revokeToken> = async ({ body, request }) => {
    await tokens.revoke(body.token, originOf(request));
    return { status: 200, body: {} };
  };

  return { issue, refresh, revoke };
}

/**
 * Reads the parameters of a sign-in. In a form, `username` is an alias of `email` (RFC 6749 4.3.2). Throws a 400 problem
 * for any other grant type.
 */
export function readGrant(request: IncomingMessage): unknown {
  const { body = {} } = request;
  if (typeof body !== 'object' || body === null) return body;
  const type = 'grant_type' in body ? body.grant_type : undefined;
  if (typeof type === 'string' && type !== '' && type !== 'password') {
    const hint = type === 'refresh_token' ? ' Send refresh tokens to /token/refresh.' : '';
    throw oauthProblem('unsupported_grant_type', `Only the password grant is supported here.${hint}`);
  }
  const usesAlias = isForm(request) && !('email' in body) && 'username' in body;
  return usesAlias ? { ...body, email: body.username } : body;
}
