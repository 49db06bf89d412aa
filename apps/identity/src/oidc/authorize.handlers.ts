import type { IncomingMessage, ServerResponse } from 'node:http';
import { passwordGrantSchema } from '@tessera/contracts';
import { abortSignalOf, originOf, ProblemError, type Route } from '@tessera/service-kit';
import { accountPage } from '../pages/account-page.ts';
import { consentPage } from '../pages/consent-page.ts';
import { type NewPasswordError, newPasswordPage } from '../pages/new-password-page.ts';
import { type SignInError, signInPage } from '../pages/sign-in-page.ts';
import { PasswordProblem } from '../passwords/password-policy.ts';
import type { SsoCookie } from '../sso/sso-cookie.ts';
import type { SsoSessionRepository } from '../sso/sso-session.repository.ts';
import type { Authorization, AuthorizationService } from './authorization.service.ts';
import type { AuthorizationRequest, ErrorTarget } from './authorization-request.ts';
import { assertOwnForm, assertWanted, type Browser, browserRoute, redirect } from './browser.ts';
import { carry, readCarried } from './carried-request.ts';
import type { OidcIssuer } from './issuer.ts';
import { type Parameters, readQuery, withQuery } from './parameters.ts';
import { readFormOf } from './protocol.handlers.ts';

export interface SignInPageDependencies {
  authorizations: AuthorizationService;
  sessions: SsoSessionRepository;
  cookie: SsoCookie;
  browser: Browser;
  oidc: OidcIssuer;
  passwordMinLength: number;
}

/** How an answer reaches the application: by a redirect after a GET, by a page after a form. */
type Leave = (to: string) => void;

// Empty fields of a form count as absent, so the form says what it asks for.
const [stepField, newPasswordStep] = ['step', 'new_password'] as const;

const fieldsOf = ({ parameters }: AuthorizationRequest, subject: string | undefined) => [
  ['request', carry(parameters, subject)] as const,
];

/** The routes by which applications sign people in. */
export function authorizeRoutes(dependencies: SignInPageDependencies): Route[] {
  const { authorizations, sessions, cookie, browser, oidc } = dependencies;
  const signInPath = `${oidc.basePath}/sign-in`;
  const consentPath = `${signInPath}/consent`;

  /** Reads the request of the application; answers and returns undefined if it is not valid. */
  const readRequest = async (
    request: IncomingMessage,
    response: ServerResponse,
    parameters: ReturnType<typeof readQuery>,
    leave: Leave,
  ): Promise<AuthorizationRequest | undefined> => {
    const outcome = await authorizations.read(parameters, originOf(request));
    if (outcome.kind === 'request') return outcome.request;
    if (outcome.kind === 'page') {
      const uiLocales = parameters.values.get('ui_locales');
      browser.refuse(request, response, { kind: outcome.refusal, uiLocales });
    } else leave(errorUri(oidc, outcome.target, outcome.error, outcome.description));
    return undefined;
  };

  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    wanted: AuthorizationRequest,
    authorization: Authorization,
    leave: Leave,
  ): void => {
    if (authorization.kind === 'code') {
      leave(
        withQuery(wanted.redirectUri, { code: authorization.code, state: wanted.state, iss: oidc.issuer }),
      );
      return;
    }
    if (authorization.kind === 'error') {
      leave(errorUri(oidc, wanted, authorization.error, authorization.description));
      return;
    }
    const context = browser.context(request, wanted.uiLocales);
    const { client } = wanted;
    const fields = fieldsOf(wanted, authorization.subject);
    if (authorization.kind === 'consent') {
      const scopes = [...wanted.scope, ...(wanted.resource === null ? [] : [wanted.resource])];
      const page = consentPage({
        context,
        action: consentPath,
        fields: [...fields, ['person', authorization.person]],
        client,
        email: authorization.email,
        scopes,
      });
      browser.sendForm(response, context, 200, page);
      return;
    }
    const { isAgain, email = wanted.loginHint } = authorization;
    const page = signInPage({ context, action: signInPath, fields, client, email, isAgain });
    browser.sendForm(response, context, 200, page);
  };

  /** The request that a form carries; answers and returns undefined if it is not valid, or null if the form has none. */
  const readFormRequest = async (
    request: IncomingMessage,
    response: ServerResponse,
    form: Parameters,
  ): Promise<{ wanted: AuthorizationRequest | null; leave: Leave } | undefined> => {
    const carried = readCarried(form);
    if (carried === null) {
      browser.refuse(request, response, { kind: 'bad_request' });
      return undefined;
    }
    const uiLocales = carried?.parameters.get('ui_locales');
    const leave = (to: string) => browser.continue(response, browser.context(request, uiLocales), to);
    if (carried === undefined) return { wanted: null, leave };
    const parameters = { values: carried.parameters, repeated: new Set<string>() };
    const wanted = await readRequest(request, response, parameters, leave);
    return wanted === undefined ? undefined : { wanted: { ...wanted, subject: carried.subject }, leave };
  };

  const authorize = async (request: IncomingMessage, response: ServerResponse) => {
    assertWanted(request);
    const leave = (to: string) => redirect(response, to);
    const wanted = await readRequest(request, response, readQuery(request.url ?? ''), leave);
    if (wanted === undefined) return;
    const authorization = await authorizations.authorize(wanted, cookie.hashOf(request), originOf(request));
    answer(request, response, wanted, authorization, leave);
  };

  // A POST of another site has no cookie; the GET that follows has.
  const authorizeByPost = async (request: IncomingMessage, response: ServerResponse) => {
    const parameters = await readFormOf(request, response);
    redirect(response, withQuery(`${oidc.basePath}/oidc/authorize`, Object.fromEntries(parameters)));
  };

  const openSignIn = async (request: IncomingMessage, response: ServerResponse) => {
    const context = browser.context(request);
    const tokenHash = cookie.hashOf(request);
    const session = tokenHash === undefined ? undefined : await sessions.find(tokenHash);
    const page =
      session === undefined
        ? signInPage({ context, action: signInPath, fields: [] })
        : accountPage({
            context,
            email: session.email,
            signOutAction: `${oidc.basePath}/oidc/logout`,
            fields: [['decision', 'sign_out']],
          });
    browser.send(response, context, 200, page);
  };

  const signIn = async (request: IncomingMessage, response: ServerResponse) => {
    assertOwnForm(request, oidc.origin);
    const form = await readFormOf(request, response);
    const read = await readFormRequest(request, response, form);
    if (read === undefined) return;
    const { leave, wanted } = read;
    const given = readCredentials(form);
    const choosesNothing = form.get(stepField) === newPasswordStep && !form.has('new_password');
    if (given === undefined || choosesNothing) {
      refuseSignIn(request, response, wanted, form, incompleteRefusal(form, choosesNothing));
      return;
    }
    const { header, hash } = cookie.create();
    const browserSession = { tokenHash: hash, previousHash: cookie.hashOf(request) };
    const call = { origin: originOf(request), signal: abortSignalOf(response) };
    try {
      const authorization = await authorizations.signIn(wanted, given, browserSession, call);
      response.setHeader('Set-Cookie', header);
      if (wanted === null) leave(signInPath);
      else answer(request, response, wanted, authorization, leave);
    } catch (error) {
      const refusal = refusalOf(error, given.newPassword !== undefined);
      if (refusal === undefined) throw error;
      refuseSignIn(request, response, wanted, form, refusal);
    }
  };

  const refuseSignIn = (
    request: IncomingMessage,
    response: ServerResponse,
    wanted: AuthorizationRequest | null,
    form: Parameters,
    { error, status, retryAfter, choosesPassword = false }: Refusal,
  ): void => {
    if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
    const context = browser.context(request, wanted?.uiLocales);
    const view = {
      context,
      action: signInPath,
      fields: wanted === null ? [] : fieldsOf(wanted, wanted.subject),
      client: wanted?.client,
      email: form.get('email')?.slice(0, 320) ?? '',
    };
    const page = choosesPassword
      ? newPasswordPage({
          ...view,
          fields: [...view.fields, [stepField, newPasswordStep]],
          minLength: dependencies.passwordMinLength,
          error,
        })
      : signInPage({ ...view, error: error as SignInError | undefined });
    browser.sendForm(response, context, status, page);
  };

  const consent = async (request: IncomingMessage, response: ServerResponse) => {
    assertOwnForm(request, oidc.origin);
    const form = await readFormOf(request, response);
    const read = await readFormRequest(request, response, form);
    if (read === undefined) return;
    const { leave, wanted } = read;
    if (wanted === null) {
      browser.refuse(request, response, { kind: 'bad_request' });
      return;
    }
    if (form.get('decision') !== 'allow') {
      leave(errorUri(oidc, wanted, 'access_denied', 'The person has not allowed the access.'));
      return;
    }
    const tokenHash = cookie.hashOf(request);
    // Another person may have signed in since, in another tab: that one is asked, too.
    const session = tokenHash === undefined ? undefined : await sessions.find(tokenHash);
    const allows = session !== undefined && session.identityId === form.get('person');
    const authorization = await authorizations.authorize(wanted, tokenHash, originOf(request), { allows });
    answer(request, response, wanted, authorization, leave);
  };

  return [
    browserRoute('GET', '/oidc/authorize', authorize),
    browserRoute('POST', '/oidc/authorize', authorizeByPost),
    browserRoute('GET', '/sign-in', openSignIn),
    browserRoute('POST', '/sign-in', signIn),
    browserRoute('POST', '/sign-in/consent', consent),
  ];
}

// RFC 9207: `iss` is in every response, so that a client with several providers knows whose it is.
function errorUri(
  oidc: OidcIssuer,
  { redirectUri, state }: ErrorTarget,
  error: string,
  description: string,
): string {
  return withQuery(redirectUri, { error, error_description: description, state, iss: oidc.issuer });
}

function readCredentials(form: Parameters) {
  const { data } = passwordGrantSchema.safeParse({
    grant_type: 'password',
    email: form.get('email'),
    password: form.get('password'),
    new_password: form.get('new_password'),
  });
  return data === undefined
    ? undefined
    : { email: data.email, password: data.password, newPassword: data.new_password };
}

interface Refusal {
  status: number;
  error: SignInError | NewPasswordError | undefined;
  retryAfter?: string | undefined;
  /** Whether the page asks for another password. */
  choosesPassword?: boolean;
}

/** What is missing in a form, or that a text which no account has was entered. */
function incompleteRefusal(form: Parameters, choosesNothing: boolean): Refusal {
  if (choosesNothing) return { status: 422, error: { code: 'too_short' }, choosesPassword: true };
  const isFilled = [form.get('email'), form.get('password')].every(
    (text) => text !== undefined && text !== '',
  );
  return { status: 422, error: { code: isFilled ? 'invalid_grant' : 'incomplete' } };
}

/** The page of a refused sign-in; undefined for an error that is not about the sign-in. */
function refusalOf(error: unknown, hasNewPassword: boolean): Refusal | undefined {
  if (!(error instanceof ProblemError)) return undefined;
  const { status, code, headers } = error;
  const retryAfter = headers['Retry-After'];
  if (code === 'password_change_required') return { status: 200, error: undefined, choosesPassword: true };
  if (code === 'password_expired') return { status: 422, error: { code } };
  if (code === 'invalid_grant') return { status: 422, error: { code }, choosesPassword: hasNewPassword };
  if (error instanceof PasswordProblem)
    return { status, error: { code: error.fault }, choosesPassword: true };
  if (status === 429)
    return {
      status,
      retryAfter,
      error: { code: 'too_many_requests', retryAfterSeconds: Number(retryAfter) },
    };
  return status === 503 ? { status, retryAfter, error: { code: 'unavailable' } } : undefined;
}
