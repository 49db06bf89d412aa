import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Express } from 'express';

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

/** Starts the application, and creates its client by the internal API. */
export async function startRelyingParty(
  { name, callbackPath }: RelyingParty,
  issuer: string,
  createClient: (body: object) => Promise<{ client_id: string; client_secret: string }>,
) {
  const execArgv = ['--import', 'tsx', '--conditions=@tessera/source'];
  const app = fork(fileURLToPath(new URL('serve.ts', import.meta.url)), [name], { execArgv });
  const answer = async () => {
    const [message] = await Promise.race([once(app, 'message'), once(app, 'exit')]);
    if (typeof message !== 'object') throw new Error(`${name} has ended`);
    return message as unknown;
  };
  const { port } = (await answer()) as { port: number };
  const baseUrl = `http://localhost:${port}`;
  const client = await createClient({
    name: 'Helpdesk',
    kind: 'confidential',
    redirect_uris: [`${baseUrl}${callbackPath}`],
    post_logout_redirect_uris: [baseUrl, `${baseUrl}/`],
    scopes: ['openid', 'email', 'profile'],
  });
  const settings: ClientSettings = {
    issuer,
    clientId: client.client_id,
    clientSecret: client.client_secret,
    baseUrl,
  };
  app.send(settings);
  await answer();
  return { baseUrl, clientId: client.client_id, stop: () => void app.kill() };
}
