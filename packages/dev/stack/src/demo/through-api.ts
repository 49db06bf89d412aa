import axios, { type AxiosInstance } from 'axios';
import { randomNumbers } from '../random.ts';
import { type DemoIssue, generateIssue, people, pick } from './issue-generator.ts';
import { Progress } from './progress.ts';
import { retryWhenLimited } from './retry-when-limited.ts';

export interface DemoTarget {
  identityUrl: string;
  issuesUrl: string;
  serviceToken: string;
}

/** The password of all demo users, printed at the end. */
export const demoPassword = 'a demo password';

interface Person {
  id: string;
  issues: AxiosInstance;
}

/** Creates the users and `count` issues through the public APIs. */
export async function fillThroughApi(target: DemoTarget, count: number): Promise<void> {
  const random = randomNumbers(1);
  const team = await signInAll(target);
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
  const { title, description, priority, links } = issue;
  const reporter = pick(team, random);
  const assignee = random() < 0.7 ? pick(team, random) : undefined;
  const { data } = await reporter.issues.post('/issues/', {
    title,
    description,
    priority,
    links,
    assignee_id: assignee?.id ?? null,
  });
  for (const body of issue.comments)
    await pick(team, random).issues.post(`/issues/${data.id}/comments/`, { body });
  for (const status of issue.path) await reporter.issues.post(`/issues/${data.id}/status/`, { status });
}

async function signInAll(target: DemoTarget): Promise<Person[]> {
  const identity = axios.create({ baseURL: target.identityUrl, proxy: false });
  const internal = { headers: { 'X-Service-Token': target.serviceToken } };
  const progress = new Progress('people', people.length);
  const team: Person[] = [];
  for (const name of people) {
    const email = `${name}@demo.example`;
    // The users exist already on a second run.
    await identity.post(
      '/internal/identities',
      { email, username: name, password: demoPassword, is_verified: true, is_staff: name === 'ada' },
      { ...internal, validateStatus: (status) => status === 201 || status === 409 },
    );
    const { data } = await identity.post('/token', { grant_type: 'password', email, password: demoPassword });
    const issues = retryWhenLimited(
      axios.create({
        baseURL: `${target.issuesUrl}/api/v1`,
        proxy: false,
        headers: { Authorization: `Bearer ${data.access_token}` },
      }),
    );
    team.push({ id: (await issues.get('/users/me/')).data.id, issues });
    progress.advance();
  }
  return team;
}
