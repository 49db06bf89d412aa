import { randomBytes } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import type { NodeLibrary } from './relying-party.ts';

interface AuthExpress {
  ExpressAuth: (config: object) => RequestHandler;
  getSession: (request: Request, config: object) => Promise<{ user?: object } | null>;
}

// With its own types, those of browsers would be known in the whole program: they refer to preact, and preact to the DOM.
const library: string = '@auth/express';

/** Auth.js has no refresh of its own, and its sign-out ends only the session of the application. */
export const authJs: NodeLibrary = {
  name: 'Auth.js (@auth/express)',
  callbackPath: '/auth/callback/tessera',
  signInPath: '/auth/signin',
  signInButton: 'Sign in with Tessera',
  signOutPath: '/auth/signout',
  signOutButton: 'Sign out',
  signsOutEverywhere: false,
  refreshes: false,
  serve: async (app, { issuer, clientId, clientSecret }) => {
    const { ExpressAuth, getSession } = (await import(library)) as AuthExpress;
    const config = {
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
