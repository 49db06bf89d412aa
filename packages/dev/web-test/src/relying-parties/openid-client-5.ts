import { generators, Issuer, type TokenSet } from 'openid-client-5';
import { AppSessions } from './app-session.ts';
import type { NodeLibrary } from './relying-party.ts';

export const openidClient5: NodeLibrary = {
  name: 'openid-client 5',
  callbackPath: '/callback',
  signInPath: '/login',
  signOutPath: '/logout',
  signsOutEverywhere: true,
  refreshes: true,
  serve: async (app, { issuer, clientId, clientSecret, baseUrl }) => {
    const redirectUri = `${baseUrl}/callback`;
    const found = await Issuer.discover(issuer);
    const client = new found.Client({
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      response_types: ['code'],
    });
    const sessions = new AppSessions<TokenSet>();
    app.get('/login', (request, response) => {
      const [verifier, state, nonce] = [generators.codeVerifier(), generators.state(), generators.nonce()];
      sessions.open(request, response).started.set(state, { verifier, nonce });
      const url = client.authorizationUrl({
        scope: 'openid email profile',
        code_challenge: generators.codeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      });
      response.redirect(url);
    });
    app.get('/callback', async (request, response) => {
      const session = sessions.open(request, response);
      const parameters = client.callbackParams(request);
      const { verifier = '', nonce = '' } = session.started.get(parameters.state ?? '') ?? {};
      const checks = { code_verifier: verifier, state: parameters.state ?? '', nonce };
      session.tokens = await client.callback(redirectUri, parameters, checks);
      response.redirect('/user');
    });
    app.get('/user', async (request, response) => {
      const tokens = sessions.find(request)?.tokens;
      response.json(tokens === undefined ? {} : await client.userinfo(tokens));
    });
    app.get('/refresh', async (request, response) => {
      const session = sessions.open(request, response);
      session.tokens = await client.refresh(session.tokens?.refresh_token ?? '');
      response.json({ access_token: session.tokens.access_token });
    });
    app.get('/logout', (request, response) => {
      const session = sessions.open(request, response);
      const url = client.endSessionUrl({
        id_token_hint: session.tokens?.id_token ?? '',
        post_logout_redirect_uri: baseUrl,
      });
      session.tokens = undefined;
      response.redirect(url);
    });
  },
};
