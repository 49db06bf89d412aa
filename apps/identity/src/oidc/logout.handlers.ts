import type { IncomingMessage, ServerResponse } from 'node:http';
import { originOf, type Route } from '@tessera/service-kit';
import type { Client } from '../clients/client.ts';
import type { ClientDirectory } from '../clients/client-directory.ts';
import { signedOutPage, signOutPage } from '../pages/sign-out-page.ts';
import type { SsoCookie } from '../sso/sso-cookie.ts';
import type { SsoSessionRepository } from '../sso/sso-session.repository.ts';
import { assertWanted, type Browser, browserRoute, isOwnForm, redirect } from './browser.ts';
import { carry, isTooLongForAddress, isTooLongToCarry, readCarried } from './carried-request.ts';
import type { OidcIssuer } from './issuer.ts';
import type { IdTokenHint } from './own-jwt.ts';
import { type Parameters, readQuery, withQuery } from './parameters.ts';
import { readFormOf } from './protocol.handlers.ts';
import type { SignOutTickets } from './sign-out-ticket.ts';

export interface LogoutDependencies {
  directory: ClientDirectory;
  sessions: SsoSessionRepository;
  cookie: SsoCookie;
  browser: Browser;
  oidc: OidcIssuer;
  readHint: (token: string) => Promise<IdTokenHint | undefined>;
  tickets: SignOutTickets;
  /** Called after a session has ended, so that the clients know it soon. */
  onEnded: () => void;
}

/** A request of an application to sign a person out. */
interface LogoutRequest {
  hint: IdTokenHint | undefined;
  client: Client | undefined;
  /** Where the person returns; registered for the client. */
  returnTo: string | undefined;
  uiLocales: string | undefined;
  fields: ReadonlyArray<readonly [string, string]>;
}

const fieldNames = ['client_id', 'id_token_hint', 'post_logout_redirect_uri', 'state', 'ui_locales'];
const lengthMax = 8_192;

/** The routes of RP-Initiated Logout 1.0. */
export function logoutRoutes({
  directory,
  sessions,
  cookie,
  browser,
  oidc,
  readHint,
  tickets,
  onEnded,
}: LogoutDependencies): Route[] {
  const path = `${oidc.basePath}/oidc/logout`;

  /** Answers with a page and returns undefined if the request is not valid. */
  const read = async (
    request: IncomingMessage,
    response: ServerResponse,
    values: Parameters,
  ): Promise<LogoutRequest | undefined> => {
    const uiLocales = values.get('ui_locales');
    const refuse = (kind: 'sign_out_uri' | 'bad_request') => {
      browser.refuse(request, response, { kind, uiLocales });
      return undefined;
    };
    const [state, uri] = [values.get('state'), values.get('post_logout_redirect_uri')];
    const carried = (clientId: string | undefined) =>
      Object.entries({ client_id: clientId, post_logout_redirect_uri: uri, state, ui_locales: uiLocales });
    const isTooLong = (values.get('id_token_hint')?.length ?? 0) > lengthMax || isTooLongForAddress(state);
    if (isTooLong || isTooLongToCarry(carried(values.get('client_id')))) return refuse('bad_request');
    const given = await readHint(values.get('id_token_hint') ?? '');
    const named = values.get('client_id');
    if (given !== undefined && named !== undefined && named !== given.aud) return refuse('bad_request');
    const clientId = given?.aud ?? named;
    const client = clientId === undefined ? undefined : await directory.find(clientId);
    // A client that is unknown or disabled proves nothing, but does not keep the person from signing out.
    const hint = client === undefined ? undefined : given;
    if (client !== undefined && uri !== undefined && !client.postLogoutRedirectUris.includes(uri))
      return refuse('sign_out_uri');
    return {
      hint,
      client,
      // Without a client, no address is trusted.
      returnTo: client === undefined || uri === undefined ? undefined : withQuery(uri, { state }),
      uiLocales,
      fields: [['request', carry(carried(clientId))]],
    };
  };

  const end = async (
    request: IncomingMessage,
    response: ServerResponse,
    hint?: Pick<IdTokenHint, 'sid' | 'sub'>,
  ) => {
    await sessions.end({ tokenHash: cookie.hashOf(request) ?? null, hint: hint ?? null }, originOf(request));
    response.setHeader('Set-Cookie', cookie.expired);
    onEnded();
  };

  const byQuery = async (request: IncomingMessage, response: ServerResponse) => {
    assertWanted(request);
    const { values, repeated } = readQuery(request.url ?? '');
    if (fieldNames.some((name) => repeated.has(name))) {
      browser.refuse(request, response, { kind: 'bad_request' });
      return;
    }
    const wanted = await read(request, response, values);
    if (wanted === undefined) return;
    const { hint, client, returnTo, uiLocales, fields } = wanted;
    const context = browser.context(request, uiLocales);
    const tokenHash = cookie.hashOf(request);
    const session = tokenHash === undefined ? undefined : await sessions.find(tokenHash);
    const finish = () => {
      if (returnTo !== undefined) redirect(response, returnTo);
      else browser.send(response, context, 200, signedOutPage({ context }));
    };
    if (hint !== undefined && session?.id === hint.sid) {
      await end(request, response, hint);
      finish();
      return;
    }
    // A link with an ID token of another browser must not end its sign-in: a person has to want it.
    const endsElsewhere = hint !== undefined && (await sessions.isOpen(hint));
    if (hint !== undefined && session === undefined && !endsElsewhere) {
      finish();
      return;
    }
    const next =
      client === undefined || returnTo === undefined ? undefined : { name: client.name, to: returnTo };
    // The ID token of another person than that of the browser says nothing about who signs out.
    const isOfPerson = session === undefined || session.identityId === hint?.sub;
    const told = endsElsewhere && isOfPerson ? [['sign_in', tickets.create(hint)] as const] : [];
    const page =
      session === undefined && !endsElsewhere
        ? signedOutPage({ context, next })
        : signOutPage({ context, action: path, fields: [...fields, ...told], client, email: session?.email });
    browser.send(response, context, 200, page);
  };

  const byForm = async (request: IncomingMessage, response: ServerResponse) => {
    const form = await readFormOf(request, response);
    const decision = form.get('decision');
    // Also a form of an application may ask; the GET that follows has the cookie.
    if (decision === undefined || !isOwnForm(request, oidc.origin)) {
      const asked = [...form].filter(([name]) => fieldNames.includes(name));
      redirect(response, withQuery(path, Object.fromEntries(asked)));
      return;
    }
    const carried = readCarried(form);
    if (carried === null) {
      browser.refuse(request, response, { kind: 'bad_request' });
      return;
    }
    const wanted = await read(request, response, carried?.parameters ?? new Map());
    if (wanted === undefined) return;
    const context = browser.context(request, wanted.uiLocales);
    if (decision !== 'sign_out') {
      browser.continue(response, context, `${oidc.basePath}/sign-in`);
      return;
    }
    await end(request, response, tickets.read(form.get('sign_in')));
    if (wanted.returnTo !== undefined) browser.continue(response, context, wanted.returnTo);
    else browser.send(response, context, 200, signedOutPage({ context }));
  };

  return [browserRoute('GET', '/oidc/logout', byQuery), browserRoute('POST', '/oidc/logout', byForm)];
}
