import { IdentityClient } from '@tessera/client/identity';
import { IssuesClient, ProblemError, Session } from '@tessera/client/issues';
import { randomNumbers } from '../random.ts';
import { type DemoIssue, generateIssue, labels, people, pick } from './issue-generator.ts';
import { Progress } from './progress.ts';

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

/** Creates the users and `count` issues through the public APIs. */
export async function fillThroughApi(target: DemoTarget, count: number): Promise<void> {
  const random = randomNumbers(1);
  const team = await signInAll(target);
  // The first person is staff.
  for (const [name, color] of Object.entries(labels))
    await team[0]?.issues.createLabel({ name, color }).catch(ignoreExisting);
  const progress = new Progress('issues', count);
  const queue = Array.from({ length: count }, () => generateIssue(random));
  const work = async () => {
    for (let issue = queue.pop(); issue !== undefined; issue = queue.pop()) {
      await play(issue, team, random);
      progress.advance();
    }
  };
  await Promise.all([work(), work(), work(), work()]);
}

async function play(issue: DemoIssue, team: readonly Person[], random: () => number): Promise<void> {
  const { title, description, priority, labels: names, links } = issue;
  const reporter = pick(team, random);
  const assignee = random() < 0.7 ? pick(team, random) : undefined;
  const { key } = await reporter.issues.create({
    title,
    description,
    priority,
    labels: names,
    links,
    assignee_id: assignee?.id ?? null,
  });
  for (const body of issue.comments) await pick(team, random).issues.addComment(key, body);
  for (const status of issue.path) await reporter.issues.changeStatus(key, { status });
}

async function signInAll({ identityUrl, issuesUrl, serviceToken }: DemoTarget): Promise<Person[]> {
  const identity = new IdentityClient({ baseUrl: identityUrl, serviceToken });
  const progress = new Progress('people', people.length);
  const team: Person[] = [];
  for (const name of people) {
    const email = `${name}@demo.example`;
    const account = { email, username: name, is_verified: true, is_staff: name === 'ada' };
    await identity.create({ ...account, password: demoPassword }).catch(ignoreExisting);
    const session = await Session.signIn({ identityUrl, email, password: demoPassword });
    const issues = new IssuesClient({ baseUrl: issuesUrl, token: session, ...patience });
    team.push({ id: (await issues.me()).id, issues });
    progress.advance();
  }
  return team;
}

// The users exist already on a second run.
function ignoreExisting(error: unknown): void {
  if (!(error instanceof ProblemError) || error.status !== 409) throw error;
}
