import { randomUUID } from 'node:crypto';
import { IdentityClient } from '@tessera/client/identity';
import { Session } from '@tessera/client/issues';
import type { TokenResponse } from '@tessera/contracts';
import { first, httpClient, type Stack } from '@tessera/stack';
import { type Client, pause } from './load.ts';

export const password = 'a password of the load';
// Much longer than every timeout of the services.
const hangs = { timeout: 120_000 };

/** Creates a user and signs in. */
export async function signUp(stack: Stack, name: string, flags: object = {}): Promise<TokenResponse> {
  const email = `${name}@example.com`;
  const identityUrl = stack.urls.identity;
  const identity = new IdentityClient({ baseUrl: identityUrl, serviceToken: stack.serviceToken });
  await identity.create({ email, password, ...flags });
  return (await Session.signIn({ identityUrl, email, password })).tokens;
}

/** A client of the issues API with a user's token. */
export function issuesClient(stack: Stack, { access_token: token }: TokenResponse) {
  const headers = { Authorization: `Bearer ${token}` };
  return httpClient(`${stack.urls.issues}/api/v1`, { headers, ...hangs });
}

/**
 * Creates an issue, comments on it and moves it. Repeats each request with the same Idempotency-Key until it succeeds.
 * Adds every title that got a 201 to `created`.
 */
export function writer(stack: Stack, tokens: TokenResponse, created: Set<string>) {
  const issues = issuesClient(stack, tokens);
  const once = () => ({ headers: { 'Idempotency-Key': randomUUID() } });
  return async (client: Client) => {
    const title = `Issue ${randomUUID()}`;
    const [creation, comment, move] = [once(), once(), once()];
    const issue = await client.sendUntilSuccess('create', () => issues.post('/issues/', { title }, creation));
    created.add(title);
    const path = `/issues/${issue.data.id}`;
    await client.sendUntilSuccess('comment', () =>
      issues.post(`${path}/comments/`, { body: 'Seen.' }, comment),
    );
    await client.sendUntilSuccess('status', () =>
      issues.post(`${path}/status/`, { status: 'IN_PROGRESS' }, move),
    );
  };
}

/** Creates issues without a key and without retries: an issue whose response is lost is complete or missing. */
export function writerWithoutKey(
  stack: Stack,
  tokens: TokenResponse,
  tried: Set<string>,
  created: Set<string>,
) {
  const issues = issuesClient(stack, tokens);
  return async (client: Client) => {
    const title = `Careless ${randomUUID()}`;
    tried.add(title);
    const answer = await client.send('create', () => issues.post('/issues/', { title }));
    if (answer?.status === 201) created.add(title);
    else await pause();
  };
}

export function reader(stack: Stack, tokens: TokenResponse) {
  const issues = issuesClient(stack, tokens);
  return async (client: Client) => {
    for (const path of ['/issues/', '/users/me/', '/issues/?search=issue']) {
      const answer = await client.send('read', () => issues.get(path));
      if (answer?.status !== 200) await pause();
    }
  };
}

/** Signs in, reads the claims and refreshes ten times; signs in again when a refresh was lost. */
export function session(stack: Stack, name: string) {
  const identity = httpClient(first(stack.identities).url, hangs);
  const credentials = { grant_type: 'password', email: `${name}@example.com`, password };
  return async (client: Client) => {
    const { data } = await client.sendUntilSuccess('login', () => identity.post('/token', credentials));
    let tokens: TokenResponse = data;
    for (let rotation = 0; rotation < 10; rotation += 1) {
      const headers = { Authorization: `Bearer ${tokens.access_token}` };
      await client.sendUntilSuccess('userinfo', () => identity.get('/userinfo', { headers }));
      const { refresh_token } = tokens;
      const next = await client.send('refresh', () => identity.post('/token/refresh', { refresh_token }));
      if (next?.status !== 200) return;
      tokens = next.data;
    }
  };
}
