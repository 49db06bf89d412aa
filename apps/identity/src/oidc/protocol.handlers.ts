import type { IncomingMessage, ServerResponse } from 'node:http';
import { extractBearerToken, InvalidTokenError } from '@tessera/jwt-verify';
import {
  type Access,
  assertConnected,
  isForm,
  originOf,
  ProblemError,
  type Route,
  readBody,
  sendJson,
} from '@tessera/service-kit';
import type { ClientDirectory } from '../clients/client-directory.ts';
import type { IdentityQuota } from '../rate-limit/identity-quota.ts';
import { isOfEndedSession, wasIssuedBefore } from '../tokens/own-token.ts';
import type { TokenService } from '../tokens/token.service.ts';
import type { UserInfoRepository } from '../userinfo/userinfo.repository.ts';
import type { ClientAuthentication } from './client-authentication.ts';
import { claimsOf } from './client-tokens.ts';
import type { ClientAccessClaims } from './own-jwt.ts';
import { type Parameters, readForm } from './parameters.ts';
import { protocolProblem } from './protocol-problem.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

const realm = 'oidc';
const bodyBytes = 16 * 1024;
const readFormBody = readBody({ form: true }, { limitBytes: bodyBytes });

/** Reads the form of a request. JSON is refused, because these endpoints are those of the standard. */
export async function readFormOf(request: IncomingMessage, response: ServerResponse): Promise<Parameters> {
  const {
    'content-type': type,
    'content-length': length = '0',
    'transfer-encoding': coding,
  } = request.headers;
  const hasBody = length !== '0' || coding !== undefined;
  if ((type !== undefined || hasBody) && !isForm(request))
    throw new ProblemError({
      status: 415,
      code: 'unsupported_media_type',
      detail: 'The body must be application/x-www-form-urlencoded.',
    });
  await readFormBody(request, response);
  return readForm(request);
}

interface ProtocolDependencies {
  authentication: ClientAuthentication;
  endpoint: TokenEndpoint;
  tokens: TokenService;
  directory: ClientDirectory;
  users: UserInfoRepository;
  reads: IdentityQuota;
  sessionsValidAfter: Date;
  readAccessToken: (token: string, realm: string) => Promise<ClientAccessClaims>;
}

/** The routes of `/oidc` that programs call: token, revocation and user information. */
export function protocolRoutes(
  dependencies: ProtocolDependencies,
  { tokenClients, bearers }: { tokenClients: Access<undefined>; bearers: Access<undefined> },
): Route[] {
  const { authentication, endpoint, tokens } = dependencies;

  const token = async (request: IncomingMessage, response: ServerResponse) => {
    const parameters = await readFormOf(request, response);
    const client = await authentication.authenticate(request, parameters);
    // A rotation whose response does not arrive ends the session.
    await assertConnected(request);
    const body = await endpoint.grant(client, parameters, originOf(request));
    sendJson(response, { status: 200, headers: { Pragma: 'no-cache' }, body });
  };

  const revoke = async (request: IncomingMessage, response: ServerResponse) => {
    const parameters = await readFormOf(request, response);
    const client = await authentication.authenticate(request, parameters);
    const presented = parameters.get('token');
    if (presented === undefined) throw protocolProblem('invalid_request', 'token is required.');
    const kind = await tokens.revokeFor(presented, { clientId: client.id }, originOf(request));
    if (kind === 'access')
      throw protocolProblem('unsupported_token_type', 'An access token is valid until it expires.');
    sendJson(response, { status: 200, body: {} });
  };

  const userInfo = async (request: IncomingMessage, response: ServerResponse) => {
    const claims = await dependencies.readAccessToken(await bearerOf(request, response), realm);
    await dependencies.reads.take(claims.sub);
    sendJson(response, { status: 200, body: await userInfoOf(dependencies, claims) });
  };

  const bind = (
    method: 'GET' | 'POST',
    path: string,
    access: Access<undefined>,
    serve: Route['serve'],
  ): Route => ({
    operation: { method, path, oauth: true },
    access,
    admit: async () => undefined,
    serve,
  });
  return [
    bind('POST', '/oidc/token', tokenClients, token),
    bind('POST', '/oidc/revoke', tokenClients, revoke),
    bind('GET', '/oidc/userinfo', bearers, userInfo),
    bind('POST', '/oidc/userinfo', bearers, userInfo),
  ];
}

/** The token of the header, or of the form of a POST (RFC 6750 2.2). */
async function bearerOf(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const inBody =
    request.method === 'POST' ? (await readFormOf(request, response)).get('access_token') : undefined;
  if (inBody === undefined) return extractBearerToken(request, realm);
  if (request.headers.authorization !== undefined)
    throw protocolProblem('invalid_request', 'The access token is sent twice.');
  return inBody;
}

async function userInfoOf(
  { directory, users, sessionsValidAfter }: ProtocolDependencies,
  claims: ClientAccessClaims,
): Promise<Record<string, unknown>> {
  const scope = claims.scope.split(' ');
  if (!scope.includes('openid')) throw insufficientScope();
  if ((await directory.find(claims.client_id)) === undefined)
    throw new InvalidTokenError('the client is disabled', realm);
  const subject = await users.findSubject(claims.sub);
  if (subject === undefined) throw new InvalidTokenError('subject is not an active identity', realm);
  if (wasIssuedBefore(sessionsValidAfter, claims) || isOfEndedSession(subject, claims))
    throw new InvalidTokenError('token was issued before its sessions ended', realm);
  return { sub: subject.id, ...claimsOf(subject, scope) };
}

// RFC 6750 3.1
function insufficientScope(): ProblemError {
  return new ProblemError({
    status: 403,
    code: 'insufficient_scope',
    detail: 'The access token does not have the scope openid.',
    members: { error: 'insufficient_scope' },
    headers: {
      'WWW-Authenticate': `Bearer realm="${realm}", error="insufficient_scope", scope="openid"`,
    },
  });
}
