import { createHash, randomUUID } from 'node:crypto';
import { ProblemError, type RequestOrigin } from '@tessera/service-kit';
import type { Client } from '../clients/client.ts';
import { sha256 } from '../clients/client-secret.ts';
import type { IdentityQuota } from '../rate-limit/identity-quota.ts';
import type { TokenService } from '../tokens/token.service.ts';
import type { TokenIssuer } from '../tokens/token-issuer.ts';
import type { AuthorizationCodeRepository } from './authorization-code.repository.ts';
import type { ClientTokenResponse, ClientTokens } from './client-tokens.ts';
import { readCode } from './code.ts';
import type { MachineRepository } from './machine.repository.ts';
import type { Parameters } from './parameters.ts';
import { protocolProblem } from './protocol-problem.ts';

interface TokenEndpointDependencies {
  codes: AuthorizationCodeRepository;
  machines: MachineRepository;
  tokens: TokenService;
  clientTokens: ClientTokens;
  issuer: TokenIssuer;
  /** Limits the sign-ins that a client completes for a person, so that a client in a loop stops no other. */
  exchanges: IdentityQuota;
  /** Limits the tokens of each machine. */
  machineTokens: IdentityQuota;
  refreshIdleTtlSeconds: number;
  refreshAbsoluteTtlSeconds: number;
  sessionsValidAfter: Date;
}

const lengths: Readonly<Record<string, number>> = { refresh_token: 8_192 };
const lengthMax = 2_000;

/** The grants of `POST /oidc/token` for a client that has authenticated. */
export class TokenEndpoint {
  readonly #dependencies: TokenEndpointDependencies;

  constructor(dependencies: TokenEndpointDependencies) {
    this.#dependencies = dependencies;
  }

  async grant(client: Client, parameters: Parameters, origin: RequestOrigin): Promise<ClientTokenResponse> {
    for (const name of ['code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope', 'resource'])
      if ((parameters.get(name)?.length ?? 0) > (lengths[name] ?? lengthMax))
        throw protocolProblem('invalid_request', `The parameter ${name} is too long.`);
    const type = parameters.get('grant_type');
    if (type === undefined) throw protocolProblem('invalid_request', 'grant_type is required.');
    const isMachine = client.kind === 'machine';
    if (type === 'authorization_code' || type === 'refresh_token') {
      if (isMachine) throw unauthorized();
      return type === 'refresh_token'
        ? this.#refresh(client, parameters, origin)
        : this.#exchange(client, parameters, origin);
    }
    if (type !== 'client_credentials')
      throw protocolProblem('unsupported_grant_type', 'This grant is not supported here.');
    if (!isMachine) throw unauthorized();
    return this.#machine(client, parameters, origin);
  }

  async #exchange(
    client: Client,
    parameters: Parameters,
    origin: RequestOrigin,
  ): Promise<ClientTokenResponse> {
    const { codes, exchanges, issuer, clientTokens, sessionsValidAfter } = this.#dependencies;
    const { refreshIdleTtlSeconds, refreshAbsoluteTtlSeconds } = this.#dependencies;
    const code = required(parameters, 'code');
    const redirectUri = required(parameters, 'redirect_uri');
    const verifier = parameters.get('code_verifier');
    const presented = readCode(code);
    if (presented === undefined) throw invalidCode('malformed');
    const quotaKey = `${client.id} ${presented.identityId}`;
    await exchanges.assertAvailable(quotaKey);
    const issuedAt = Math.floor(Date.now() / 1000);
    const expiresAt = issuedAt + Math.min(refreshIdleTtlSeconds, refreshAbsoluteTtlSeconds);
    const exchange = {
      codeHash: sha256(presented.secret),
      identityId: presented.identityId,
      clientId: client.id,
      redirectUri,
      resource: readResource(client, parameters),
      codeChallenge: verifier === undefined ? null : challengeOf(verifier),
      familyId: randomUUID(),
      jti: randomUUID(),
      refreshExpiresAt: new Date(expiresAt * 1000),
      familyExpiresAt: new Date((issuedAt + refreshAbsoluteTtlSeconds) * 1000),
      sessionsValidAfter,
    };
    const exchanged = await codes.exchange(exchange, origin);
    if (exchanged === undefined) {
      const reason = await codes.recordRefusal(exchange, origin);
      throw reason === 'other_resource' ? otherResource() : invalidCode(reason);
    }
    await exchanges.count(quotaKey);
    const { subject } = exchanged;
    const refreshToken = issuer.signRefreshToken({
      subjectId: subject.id,
      jti: exchange.jti,
      issuedAt,
      expiresAt,
    });
    return clientTokens.forPerson({ ...exchanged, client, issuedAt, refreshToken });
  }

  async #refresh(
    client: Client,
    parameters: Parameters,
    origin: RequestOrigin,
  ): Promise<ClientTokenResponse> {
    const presented = required(parameters, 'refresh_token');
    const scope = parameters
      .get('scope')
      ?.split(' ')
      .filter((name) => name !== '');
    const resource = readResource(client, parameters);
    const { tokens, clientTokens } = this.#dependencies;
    const rotated = await tokens
      .rotateFor(presented, { clientId: client.id, scope, resource }, origin)
      .catch((error: unknown) => {
        throw asGrantError(error);
      });
    const { grant } = rotated;
    if (grant === null) throw new Error('The family of a client has no grant.');
    const narrowed = {
      ...grant,
      scope: scope === undefined ? grant.scope : grant.scope.filter((name) => scope.includes(name)),
    };
    return clientTokens.forPerson({ ...rotated, grant: narrowed, client });
  }

  async #machine(
    client: Client,
    parameters: Parameters,
    origin: RequestOrigin,
  ): Promise<ClientTokenResponse> {
    const { machines, machineTokens, clientTokens } = this.#dependencies;
    // A machine has no scopes, but standard clients send some: as at `authorize`, others are ignored.
    const resource = readResource(client, parameters) ?? client.audiences[0] ?? null;
    await machineTokens.assertAvailable(client.id);
    const subject = await machines.findSubject(client, origin);
    if (subject === undefined)
      throw protocolProblem('invalid_grant', 'The identity of the machine is not active, or has a password.');
    await machineTokens.count(client.id);
    return clientTokens.forMachine(client, subject, resource);
  }
}

function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw protocolProblem('invalid_request', `${name} is required.`);
  return value;
}

function readResource({ audiences }: Client, parameters: Parameters): string | undefined {
  const resource = parameters.get('resource');
  if (resource !== undefined && !audiences.includes(resource))
    throw protocolProblem('invalid_target', 'The client may not have tokens for this resource.');
  return resource;
}

function invalidCode(cause: string | undefined): ProblemError {
  return protocolProblem('invalid_grant', 'The code is not valid.', cause);
}

// RFC 8707 2.2: tokens are for what the sign-in has granted, and not for more.
function otherResource(): ProblemError {
  return protocolProblem('invalid_target', 'The sign-in has not granted this resource.', 'other_resource');
}

// RFC 7636 4.1. A verifier of another form has no challenge that a request could have had.
function challengeOf(verifier: string): string {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) throw invalidCode('malformed code_verifier');
  return createHash('sha256').update(verifier).digest('base64url');
}

function unauthorized(): ProblemError {
  return protocolProblem('unauthorized_client', 'The client may not use this grant.');
}

// The document of the service answers 401 for a refused refresh token, RFC 6749 5.2 has 400.
function asGrantError(error: unknown): unknown {
  if (!(error instanceof ProblemError) || error.code !== 'invalid_grant') return error;
  if (error.cause === 'other_resource') return otherResource();
  return error.cause === 'wider_scope'
    ? protocolProblem('invalid_scope', 'The sign-in has not granted this scope.', error.cause)
    : protocolProblem('invalid_grant', error.detail, error.cause);
}
