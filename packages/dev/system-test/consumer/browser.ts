// A page in a browser: signs in, and creates, lists, changes and follows an issue until a colleague has resolved it.
import { IssuesClient, Session } from '@tessera/client/issues';

export async function work(
  identityUrl: string,
  issuesUrl: string,
  email: string,
  password: string,
): Promise<string> {
  const session = await Session.signIn({ identityUrl, email, password });
  const { preferred_username } = await session.userInfo();
  const issues = new IssuesClient({ baseUrl: issuesUrl, token: session });
  const { key } = await issues.create({ title: 'From a page' });
  await issues.changeStatus(key, { status: 'IN_PROGRESS' });
  const seen = new Set<string>();
  const signal = AbortSignal.timeout(60_000);
  for await (const issue of issues.follow(key, { intervalMs: 100, signal })) {
    seen.add(issue.status);
    if (issue.status === 'RESOLVED') break;
    if (issue.comments_count === 0) await issues.addComment(key, 'Please check.');
  }
  await issues.changeStatus(key, { status: 'CLOSED' });
  const history: string[] = [];
  for await (const { kind } of issues.activity(key, { limit: 2 })) history.push(kind);
  const listed: string[] = [];
  for await (const { title } of issues.list({ reporter: 'me', is_open: false, limit: 1 })) listed.push(title);
  await session.signOut();
  return JSON.stringify({ preferred_username, seen: [...seen], history, listed });
}
