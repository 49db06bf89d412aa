import { randomBytes } from 'node:crypto';
import type { NodeLibrary } from './relying-party.ts';

export const expressOpenidConnect: NodeLibrary = {
  name: 'express-openid-connect',
  callbackPath: '/callback',
  signInPath: '/login',
  signOutPath: '/logout',
  signsOutEverywhere: true,
  refreshes: true,
  serve: async (app, { issuer, clientId, clientSecret, baseUrl }) => {
    // Jest cannot load it.
    const { auth } = await import('express-openid-connect');
    app.use(
      auth({
        issuerBaseURL: issuer,
        baseURL: baseUrl,
        clientID: clientId,
        clientSecret,
        secret: randomBytes(32).toString('hex'),
        authRequired: false,
        idpLogout: true,
        authorizationParams: { response_type: 'code', scope: 'openid email profile' },
      }),
    );
    app.get('/user', async (request, response) => {
      response.json(request.oidc.isAuthenticated() ? await request.oidc.fetchUserInfo() : {});
    });
    app.get('/refresh', async (request, response) => {
      const refreshed = await request.oidc.accessToken?.refresh();
      response.json({ access_token: refreshed?.access_token });
    });
  },
};
