import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';

/** The client of an application at the identity service. */
export interface ClientSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The URL of the application, of another site than that of the service. */
  baseUrl: string;
}

/** An application that signs in with a library, by its documentation. */
export interface RelyingParty {
  name: string;
  callbackPath: string;
  /** Where a person starts. Some libraries show a button there. */
  signInPath: string;
  signInButton?: string;
  signOutPath: string;
  signOutButton?: string;
  /** Whether the sign-out of the library also ends the session at the service. */
  signsOutEverywhere: boolean;
  /** Whether the application has `/refresh`, which answers with a new access token. */
  refreshes: boolean;
  /** Serves `/user`, `{ "email": … }` of a signed-in person, by the library. */
  serve: (app: Express, settings: ClientSettings) => void | Promise<void>;
}

/** Creates the client by the internal API, and starts the application. */
export async function startRelyingParty(
  { callbackPath, serve }: RelyingParty,
  issuer: string,
  createClient: (body: object) => Promise<{ client_id: string; client_secret: string }>,
) {
  const app = express();
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://localhost:${(server.address() as AddressInfo).port}`;
  const client = await createClient({
    name: 'Helpdesk',
    kind: 'confidential',
    redirect_uris: [`${baseUrl}${callbackPath}`],
    post_logout_redirect_uris: [baseUrl, `${baseUrl}/`],
    scopes: ['openid', 'email', 'profile'],
  });
  app.get('/', (_request, response) => {
    response.type('html').send('<!doctype html><html lang="en"><title>Helpdesk</title><h1>Helpdesk</h1>');
  });
  await serve(app, { issuer, clientId: client.client_id, clientSecret: client.client_secret, baseUrl });
  return {
    baseUrl,
    clientId: client.client_id,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
