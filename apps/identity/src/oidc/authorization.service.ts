import { randomUUID } from 'node:crypto';
import type { RequestOrigin } from '@tessera/service-kit';
import type { ClientRepository } from '../clients/client.repository.ts';
import type { ClientDirectory } from '../clients/client-directory.ts';
import { sha256 } from '../clients/client-secret.ts';
import { explainRefusal } from '../clients/redirect-uri.ts';
import type { IdentityQuota } from '../rate-limit/identity-quota.ts';
import type { Credentials, SignInService } from '../sign-in/sign-in.service.ts';
import type { AuthorizationRepository, CodeToIssue, Judgement } from './authorization.repository.ts';
import {
  type AuthorizationErrorCode,
  type AuthorizationRequest,
  type RequestOutcome,
  readAuthorizationRequest,
} from './authorization-request.ts';
import { codeOf, newCodeSecret } from './code.ts';
import type { IdTokenHint } from './own-jwt.ts';
import type { QueryParameters } from './parameters.ts';

interface AuthorizationDependencies {
  directory: ClientDirectory;
  clients: ClientRepository;
  repository: AuthorizationRepository;
  signIns: SignInService;
  /** Limits how many refused redirect URIs of a client are stored. */
  refusals: IdentityQuota;
  readHint: (token: string) => Promise<IdTokenHint | undefined>;
  /** Called after a sign-in has ended another session, so that its clients know it soon. */
  onEnded: () => void;
}

/** What follows for the browser. */
export type Authorization =
  | { kind: 'code'; code: string }
  | { kind: 'error'; error: AuthorizationErrorCode; description: string }
  /** `isAgain`: the browser is signed in, but not recently enough or as another person. */
  | { kind: 'sign_in'; isAgain: boolean; email: string | undefined; subject?: string | undefined }
  /** `person`: who is asked. */
  | { kind: 'consent'; person: string; email: string; subject?: string | undefined };

/** Decides about requests of applications to sign people in (OpenID Connect Core 3.1.2). */
export class AuthorizationService {
  readonly #dependencies: AuthorizationDependencies;

  constructor(dependencies: AuthorizationDependencies) {
    this.#dependencies = dependencies;
  }

  async read(parameters: QueryParameters, origin: RequestOrigin): Promise<RequestOutcome> {
    const client = await this.#dependencies.directory.find(parameters.values.get('client_id') ?? '');
    const outcome = readAuthorizationRequest(parameters, client);
    if (outcome.kind === 'page' && outcome.sent !== undefined && client !== undefined) {
      const { clients, refusals } = this.#dependencies;
      const isLimited = await refusals.take(client.id).then(
        () => false,
        () => true,
      );
      const refusal = explainRefusal(client, outcome.sent, new Date());
      if (!isLimited) await clients.recordRefusal(client.id, refusal, origin);
    }
    return outcome;
  }

  /** Answers a request with the session of the browser. `allows`: the person has just given the consent. */
  async authorize(
    request: AuthorizationRequest,
    tokenHash: Uint8Array | undefined,
    origin: RequestOrigin,
    { allows = false }: { allows?: boolean } = {},
  ): Promise<Authorization> {
    const { prompt, maxAge } = request;
    const isSilent = prompt.has('none');
    const { subject, isForeign } = await this.#expectedBy(request);
    if (isSilent && isForeign) return loginRequired;
    const asksAgain = !allows && (prompt.has('login') || prompt.has('select_account'));
    if (tokenHash === undefined || asksAgain)
      return isSilent
        ? loginRequired
        : { kind: 'sign_in', isAgain: tokenHash !== undefined, email: undefined, subject };
    const code = newCodeSecret();
    const needsConsent = prompt.has('consent') && !allows;
    const judgement = await this.#dependencies.repository.authorize(
      toIssue(request, code, { never: needsConsent }),
      { tokenHash, maxAge: allows ? null : maxAge, subject: subject ?? null },
      origin,
      { grants: allows },
    );
    if (judgement === undefined || !judgement.isWanted) {
      if (isSilent) return loginRequired;
      return { kind: 'sign_in', isAgain: judgement !== undefined, email: judgement?.email, subject };
    }
    return { ...answer(judgement, code, isSilent), ...(subject === undefined ? {} : { subject }) };
  }

  /** The person that the application expects. A hint that is not of this client names none. */
  async #expectedBy({ client, idTokenHint, subject }: AuthorizationRequest) {
    if (idTokenHint === undefined) return { subject, isForeign: false };
    const hint = await this.#dependencies.readHint(idTokenHint);
    return hint?.aud === client.id
      ? { subject: hint.sub, isForeign: false }
      : { subject: undefined, isForeign: true };
  }

  /** Signs a person in on a page, and answers the request of the application, if there is one. */
  async signIn(
    request: AuthorizationRequest | null,
    credentials: Credentials,
    browser: { tokenHash: Uint8Array; previousHash: Uint8Array | undefined },
    { origin, signal }: { origin: RequestOrigin; signal: AbortSignal },
  ): Promise<Authorization> {
    const { repository, signIns, onEnded } = this.#dependencies;
    const subject = request?.subject;
    const code = newCodeSecret();
    const { judgement, isExpected } = await signIns.signInWith(
      credentials,
      origin,
      signal,
      async (candidate, address) => {
        const isExpected = subject === undefined || subject === candidate.id;
        const wanted = isExpected ? request : null;
        const opened = await repository.signIn(candidate, address, origin, {
          session: { id: randomUUID(), ...browser },
          code: wanted === null ? null : toIssue(wanted, code, { never: wanted.prompt.has('consent') }),
        });
        return opened === undefined ? undefined : { judgement: opened, isExpected };
      },
    );
    if (judgement.tells) onEnded();
    if (!isExpected) return { ...loginRequired, description: 'Another person has signed in.' };
    return answer(judgement, code, false);
  }
}

const loginRequired = {
  kind: 'error',
  error: 'login_required',
  description: 'The person must sign in.',
} as const;

function answer(judgement: Judgement, code: Uint8Array, isSilent: boolean): Authorization {
  const { identityId, isConsented, isIssued, email } = judgement;
  if (isIssued) return { kind: 'code', code: codeOf(code, identityId) };
  if (isConsented)
    return { kind: 'error', error: 'temporarily_unavailable', description: 'Too many codes are in use.' };
  if (!isSilent) return { kind: 'consent', person: identityId, email };
  return { kind: 'error', error: 'consent_required', description: 'The person must allow the access.' };
}

/** The scopes and audiences for which a person gives consent. An audience has a prefix, so that it is never a scope. */
export function consentOf({ scope, resource }: AuthorizationRequest): string[] {
  return [...scope, ...(resource === null ? [] : [`audience:${resource}`])];
}

// `never`: asks for the consent although it was given, because it asks for something that is never allowed.
function toIssue(
  request: AuthorizationRequest,
  code: Uint8Array,
  { never }: { never: boolean },
): CodeToIssue {
  const { client, redirectUri, codeChallenge, nonce, scope, resource } = request;
  const needed = client.isFirstParty ? null : consentOf(request);
  return {
    codeHash: sha256(code),
    clientId: client.id,
    redirectUri,
    codeChallenge,
    nonce,
    scope,
    resource,
    consent: never ? [...consentOf(request), 'prompt=consent'] : needed,
  };
}
