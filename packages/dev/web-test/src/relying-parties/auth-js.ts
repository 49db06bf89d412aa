import { randomBytes } from 'node:crypto';
import { ExpressAuth, type ExpressAuthConfig, getSession } from '@auth/express';
import type { RelyingParty } from './relying-party.ts';

/** Auth.js has no refresh of its own, and its sign-out ends only the session of the application. */
export const authJs: RelyingParty = {
  name: 'Auth.js (@auth/express)',
  callbackPath: '/auth/callback/tessera',
  signInPath: '/auth/signin',
  signInButton: 'Sign in with Tessera',
  signOutPath: '/auth/signout',
  signOutButton: 'Sign out',
  signsOutEverywhere: false,
  refreshes: false,
  serve: (app, { issuer, clientId, clientSecret }) => {
    const config: ExpressAuthConfig = {
      providers: [
        {
          id: 'tessera',
          name: 'Tessera',
          type: 'oidc',
          issuer,
          clientId,
          clientSecret,
          checks: ['pkce', 'state', 'nonce'],
        },
      ],
      secret: randomBytes(32).toString('hex'),
      trustHost: true,
    };
    app.use('/auth', ExpressAuth(config));
    app.get('/user', async (request, response) => {
      const session = await getSession(request, config);
      response.json(session?.user ?? {});
    });
  },
};
