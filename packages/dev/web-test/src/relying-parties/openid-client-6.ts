import * as oidc from 'openid-client';
import { AppSessions } from './app-session.ts';
import type { NodeLibrary } from './relying-party.ts';

export const openidClient6: NodeLibrary = {
  name: 'openid-client 6',
  callbackPath: '/callback',
  signInPath: '/login',
  signOutPath: '/logout',
  signsOutEverywhere: true,
  refreshes: true,
  serve: async (app, { issuer, clientId, clientSecret, baseUrl }) => {
    const config = await oidc.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      execute: [oidc.allowInsecureRequests],
    });
    const sessions = new AppSessions<oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers>();
    app.get('/login', async (request, response) => {
      const [verifier, state, nonce] = [
        oidc.randomPKCECodeVerifier(),
        oidc.randomState(),
        oidc.randomNonce(),
      ];
      sessions.open(request, response).started.set(state, { verifier, nonce });
      const { ui_locales: locales } = request.query;
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: `${baseUrl}/callback`,
        scope: 'openid email profile',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
        ...(typeof locales === 'string' ? { ui_locales: locales } : {}),
      });
      response.redirect(url.href);
    });
    app.get('/callback', async (request, response) => {
      const session = sessions.open(request, response);
      const state = String(request.query.state);
      const { verifier = '', nonce = '' } = session.started.get(state) ?? {};
      session.tokens = await oidc.authorizationCodeGrant(config, new URL(request.url, baseUrl), {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
      });
      response.redirect(`/user?state=${encodeURIComponent(state)}`);
    });
    app.get('/user', async (request, response) => {
      const tokens = sessions.find(request)?.tokens;
      const subject = tokens?.claims()?.sub;
      if (tokens === undefined || subject === undefined) return void response.json({});
      response.json(await oidc.fetchUserInfo(config, tokens.access_token, subject));
    });
    app.get('/refresh', async (request, response) => {
      const session = sessions.open(request, response);
      session.tokens = await oidc.refreshTokenGrant(config, session.tokens?.refresh_token ?? '');
      response.json({ access_token: session.tokens.access_token });
    });
    app.get('/logout', (request, response) => {
      const session = sessions.open(request, response);
      const hint = session.tokens?.id_token ?? '';
      session.tokens = undefined;
      const url = oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: baseUrl, id_token_hint: hint });
      response.redirect(url.href);
    });
  },
};
