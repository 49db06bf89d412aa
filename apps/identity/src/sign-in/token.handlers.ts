import type { IncomingMessage } from 'node:http';
import {
  passwordGrantSchema,
  refreshRequestSchema,
  type refreshTokens,
  type revokeToken,
  signIn,
} from '@tessera/contracts';
import { abortSignalOf, assertConnected, type Handler, isForm, originOf, parse } from '@tessera/service-kit';
import { z } from 'zod';
import { oauthProblem } from '../oauth.ts';
import type { TokenService } from '../tokens/token.service.ts';
import type { SignInService } from './sign-in.service.ts';

/** Handlers of the token endpoints (docs/spec/identity-service.md 4.1). */
export function tokenHandlers({ signIns, tokens }: { signIns: SignInService; tokens: TokenService }) {
  const issue: Handler<typeof signIn> = async ({ body, request, response }) => ({
    status: 200,
    body: await signIns.signIn(
      { email: body.email, password: body.password, newPassword: body.new_password },
      originOf(request),
      abortSignalOf(response),
    ),
  });

  const refresh: Handler<typeof refreshTokens> = async ({ body, request }) => {
    // A rotation whose response does not arrive ends the session.
    await assertConnected(request);
    return { status: 200, body: await tokens.refresh(body.refresh_token, originOf(request)) };
  };

  const revoke: Handler<typeof revokeToken> = async ({ body, request }) => {
    await tokens.revoke(body.token, originOf(request));
    return { status: 200, body: {} };
  };

  const exchange: Handler<typeof tokenEndpoint> = (call) => {
    const { body } = call;
    return grantTypeOf(body) === 'refresh_token'
      ? refresh({ ...call, body: parse(refreshRequestSchema, body) })
      : issue({ ...call, body: parse(passwordGrantSchema, body) });
  };

  return { issue, refresh, revoke, exchange };
}

/** `POST /token` with TOKEN_ENDPOINT_REFRESH=on: the grant type selects the schema of the body. */
export const tokenEndpoint = { ...signIn, body: { ...signIn.body, schema: z.unknown() } };

/** Reads the parameters of a sign-in. Throws a 400 problem for any other grant type. */
export function readPasswordGrant(request: IncomingMessage): unknown {
  const type = grantTypeOf(request.body);
  if (!isPasswordGrant(type)) {
    const hint = type === 'refresh_token' ? ' Send refresh tokens to /token/refresh.' : '';
    throw oauthProblem('unsupported_grant_type', `Only the password grant is supported here.${hint}`);
  }
  return readParameters(request);
}

/** Reads the parameters of a sign-in or a refresh. Throws a 400 problem for any other grant type. */
export function readGrant(request: IncomingMessage): unknown {
  const type = grantTypeOf(request.body);
  if (!isPasswordGrant(type) && type !== 'refresh_token') {
    throw oauthProblem(
      'unsupported_grant_type',
      'Only the password and refresh_token grants are supported here.',
    );
  }
  return readParameters(request);
}

// The schema refuses a missing, empty or malformed grant type.
function isPasswordGrant(type: unknown): boolean {
  return typeof type !== 'string' || type === '' || type === 'password';
}

function grantTypeOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'grant_type' in body ? body.grant_type : undefined;
}

// In a form, `username` is an alias of `email` (RFC 6749 4.3.2).
function readParameters(request: IncomingMessage): unknown {
  const { body = {} } = request;
  if (typeof body !== 'object' || body === null) return body;
  const usesAlias = isForm(request) && !('email' in body) && 'username' in body;
  return usesAlias ? { ...body, email: body.username } : body;
}
