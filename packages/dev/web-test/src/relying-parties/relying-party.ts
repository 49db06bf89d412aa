import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '@tessera/stack/eventually';
import { findFreePort } from '@tessera/stack/postgres';
import type { Express } from 'express';

/** The client of an application at the identity service. */
export interface ClientSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The URL of the application, of another site than that of the service. */
  baseUrl: string;
}

/** A program that serves an application. */
export interface Command {
  file: string;
  parameters: readonly string[];
  variables: Readonly<Record<string, string>>;
  /** Is removed at the end. */
  folder?: string;
}

interface Application {
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
}

/** A library of Node. */
export interface NodeLibrary extends Application {
  /** Serves `/user`, `{ "email": … }` of a signed-in person, by the library. */
  serve: (app: Express, settings: ClientSettings) => void | Promise<void>;
}

/** An application that signs in with a library, by its documentation. */
export type RelyingParty = NodeLibrary | (Application & { command: (settings: ClientSettings) => Command });

/** Starts the application, and creates its client by the internal API. */
export async function startRelyingParty(
  library: RelyingParty,
  issuer: string,
  createClient: (body: object) => Promise<{ client_id: string; client_secret: string }>,
) {
  const baseUrl = `http://localhost:${await findFreePort()}`;
  const client = await createClient({
    name: 'Helpdesk',
    kind: 'confidential',
    redirect_uris: [`${baseUrl}${library.callbackPath}`],
    post_logout_redirect_uris: [baseUrl, `${baseUrl}/`],
    scopes: ['openid', 'email', 'profile'],
  });
  const settings = { issuer, clientId: client.client_id, clientSecret: client.client_secret, baseUrl };
  const stop =
    'serve' in library ? await serve(library, settings) : await run(library.command(settings), baseUrl);
  return { baseUrl, clientId: client.client_id, stop };
}

async function serve({ name }: NodeLibrary, settings: ClientSettings) {
  const execArgv = ['--import', 'tsx', '--conditions=@tessera/source'];
  const app = fork(fileURLToPath(new URL('serve.ts', import.meta.url)), [name], { execArgv });
  app.send(settings);
  const [message] = await Promise.race([once(app, 'message'), once(app, 'exit')]);
  if (typeof message !== 'object') throw new Error(`${name} has ended`);
  return () => end(app);
}

async function run({ file, parameters, variables, folder }: Command, baseUrl: string) {
  const app = spawn(file, parameters, { env: variables, stdio: ['ignore', 'ignore', 'inherit'] });
  const stop = async () => {
    await end(app);
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  await once(app, 'spawn');
  await eventually(async () => {
    if (app.exitCode !== null) throw new Error(`${file} has ended with ${app.exitCode}`);
    return fetch(baseUrl).then(
      () => true,
      () => false,
    );
  });
  return stop;
}

async function end(app: ChildProcess): Promise<void> {
  if (app.exitCode !== null || app.signalCode !== null) return;
  app.kill();
  await once(app, 'exit');
}
