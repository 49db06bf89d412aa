// A page in a browser: signs in and works on an issue.
import { IssuesClient, Session } from '@tessera/client/issues';

export async function work(
  identityUrl: string,
  issuesUrl: string,
  email: string,
  password: string,
): Promise<string> {
  const session = await Session.signIn({ identityUrl, email, password });
  const issues = new IssuesClient({ baseUrl: issuesUrl, token: session });
  const { key } = await issues.create({ title: 'From a page' });
  await issues.addComment(key, 'Seen.');
  await issues.changeStatus(key, { status: 'CLOSED' });
  const history: string[] = [];
  for await (const { kind } of issues.activity(key, { limit: 2 })) history.push(kind);
  const listed: string[] = [];
  for await (const { title } of issues.list({ reporter: 'me', is_open: false, limit: 1 })) listed.push(title);
  return JSON.stringify({ history, listed });
}
