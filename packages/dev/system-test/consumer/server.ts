// A backend on Express, outside of this repository: signs in, verifies the token, and works on an issue.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { IdentityClient } from '@tessera/client/identity';
import { IssuesClient, ProblemError, Session } from '@tessera/client/issues';
import { verifyWebhook, WebhookError } from '@tessera/client/webhooks';
import type { Issue } from '@tessera/contracts';
import { createTokenVerifier, RemoteKeySource } from '@tessera/jwt-verify';
import { accessTokenOf, bearerErrorHandler, requireAccessToken } from '@tessera/jwt-verify/express';
import express from 'express';

const [identityUrl = '', issuesUrl = '', serviceToken = '', email = '', password = ''] =
  process.argv.slice(2);
const keys = new RemoteKeySource({ jwksUri: `${identityUrl}/jwks` });
const verifier = createTokenVerifier({ kind: 'access', issuer: identityUrl, audience: 'tessera', keys });
const app = express();
app.get('/me', requireAccessToken(verifier, { realm: 'orders' }), (_request, response) => {
  response.json({ id: accessTokenOf(response).sub });
});
app.use(bearerErrorHandler());
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const me = `http://127.0.0.1:${(server.address() as AddressInfo).port}/me`;

const { id } = await new IdentityClient({ baseUrl: identityUrl, serviceToken }).create({ email, password });
const session = await Session.signIn({ identityUrl, email, password });
const headers = { Authorization: `Bearer ${await session.accessToken()}` };
const verified = (await (await fetch(me, { headers })).json()) as { id: string };
const { status: statusWithoutToken } = await fetch(me);

const issues = new IssuesClient({ baseUrl: issuesUrl, token: session });
const issue: Issue = await issues.create({ title: 'Invoice is not printed', priority: 'HIGH' });
await issues.update(issue.key, { description: 'Since noon.', version: issue.version });
const late = await issues.update(issue.key, { title: 'Late', version: issue.version }).catch(String);
await issues.addComment(issue.key, 'The printer had no paper.');
await issues.changeStatus(issue.number, { status: 'RESOLVED' });
const listed: string[] = [];
for await (const { key } of issues.list({ reporter: 'me', status: ['RESOLVED'] })) listed.push(key);
const history: string[] = [];
for await (const { kind } of issues.activity(issue.key, { limit: 1 })) history.push(kind);
const comments: string[] = [];
for await (const { body } of issues.comments(issue.key)) comments.push(body);
await session.signOut();
const after = await issues
  .get(issue.key)
  .catch((error: unknown) => error instanceof ProblemError && error.code);
let webhook: string;
try {
  webhook = verifyWebhook({ body: '{}', headers: {} }, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw').type;
} catch (error) {
  webhook = error instanceof WebhookError ? error.code : String(error);
}
const result = {
  isVerified: verified.id === id,
  statusWithoutToken,
  late,
  isListed: listed.join() === issue.key,
  history,
  comments,
  after,
  webhook,
};
process.stdout.write(JSON.stringify(result));
server.close();
