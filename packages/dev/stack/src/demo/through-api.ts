import { IdentityClient } from '@tessera/client/identity';
import { IssuesClient, ProblemError, Session } from '@tessera/client/issues';
import { randomNumbers } from '../random.ts';
import { type DemoIssue, generateIssue, labels, type PersonName, people } from './issue-generator.ts';
import { Progress } from './progress.ts';
import { stories } from './stories.ts';

export interface DemoTarget {
  identityUrl: string;
  issuesUrl: string;
  serviceToken: string;
}

/** The password of all demo users, printed at the end. */
export const demoPassword = 'a demo password';

interface Person {
  id: string;
  issues: IssuesClient;
}

// A person creates more than the limit of a minute, so that requests are refused until it is over.
const patience = { attempts: 1_000, deadlineMs: 10 * 60_000 };

type Team = Readonly<Record<PersonName, Person>>;

/**
 * Creates the users and `count` issues through the public APIs; the last ones are stories.
 * @returns the keys of the issues in their order
 */
export async function fillThroughApi(target: DemoTarget, count: number): Promise<string[]> {
  const random = randomNumbers(1);
  const team = await signInAll(target);
  for (const [name, color] of Object.entries(labels))
    await team.ada.issues.createLabel({ name, color }).catch(ignoreExisting);
  const progress = new Progress('issues', count);
  const told = stories.slice(-count);
  const queue = [...Array.from({ length: count - told.length }, () => generateIssue(random)), ...told];
  const keys: string[] = [];
  const work = async () => {
    for (let issue = queue.shift(); issue !== undefined; issue = queue.shift()) {
      keys.push(await play(issue, team));
      progress.advance();
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return keys;
}

async function play(issue: DemoIssue, team: Team): Promise<string> {
  const { title, description, priority, labels: names, links, assignee } = issue;
  const reporter = team[issue.reporter].issues;
  const { key } = await reporter.create({
    title,
    description,
    priority,
    labels: names,
    links,
    assignee_id: assignee === null ? null : team[assignee].id,
  });
  const [first, ...others] = issue.path;
  if (first !== undefined) await reporter.changeStatus(key, { status: first });
  for (const { by, text } of issue.comments) await team[by].issues.addComment(key, text);
  for (const status of others) await reporter.changeStatus(key, { status });
  return key;
}

async function signInAll({ identityUrl, issuesUrl, serviceToken }: DemoTarget): Promise<Team> {
  const identity = new IdentityClient({ baseUrl: identityUrl, serviceToken });
  const all = Object.entries(people);
  const progress = new Progress('people', all.length);
  const team: [string, Person][] = [];
  for (const [name, displayName] of all) {
    const email = `${name}@demo.example`;
    // The first person is staff.
    const account = {
      email,
      username: name,
      display_name: displayName,
      is_verified: true,
      is_staff: name === 'ada',
    };
    await identity.create({ ...account, password: demoPassword }).catch(ignoreExisting);
    const session = await Session.signIn({ identityUrl, email, password: demoPassword });
    const issues = new IssuesClient({ baseUrl: issuesUrl, token: session, ...patience });
    team.push([name, { id: (await issues.me()).id, issues }]);
    progress.advance();
  }
  return Object.fromEntries(team) as Team;
}

// The users exist already on a second run.
function ignoreExisting(error: unknown): void {
  if (!(error instanceof ProblemError) || error.status !== 409) throw error;
}
