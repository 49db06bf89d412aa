// A program of 40 lines, outside of this repository: signs in, verifies the token, and creates, lists, changes and follows
// an issue until a colleague has resolved it.
import { IssuesClient, Session } from '@tessera/client/issues';
import { createTokenVerifier, RemoteKeySource } from '@tessera/jwt-verify';

const [identityUrl = '', issuesUrl = '', email = '', password = ''] = process.argv.slice(2);
const session = await Session.signIn({ identityUrl, email, password });

const keys = new RemoteKeySource({ jwksUri: `${identityUrl}/jwks` });
const verifier = createTokenVerifier({ kind: 'access', issuer: identityUrl, audience: 'tessera', keys });
const { sub } = await verifier.verify(await session.accessToken());

const issues = new IssuesClient({ baseUrl: issuesUrl, token: session });
const { key } = await issues.create({ title: 'Invoice is not printed', priority: 'HIGH' });
const listed: string[] = [];
for await (const issue of issues.list({ reporter: 'me', is_open: true })) listed.push(issue.key);
await issues.update(key, { description: 'Since noon.' });
await issues.changeStatus(key, { status: 'IN_PROGRESS' });

const seen = new Set<string>();
const signal = AbortSignal.timeout(60_000);
for await (const issue of issues.follow(key, { intervalMs: 100, signal })) {
  seen.add(issue.status);
  if (issue.status === 'RESOLVED') break;
  if (issue.comments_count === 0) await issues.addComment(key, 'Please check the paper.');
}
const isListed = listed.includes(key);
process.stdout.write(JSON.stringify({ sub, isListed, seen: [...seen] }));
