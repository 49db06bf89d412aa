// Imports many issues from a real Redmine into an empty database, and syncs both sides after edits.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { runCommandLine, UsageError } from '@tessera/stack/command-line';
import { canRunRedmine, startRedmine } from '@tessera/trackers/redmine';
import axios from 'axios';
import { FakeIdentity } from '../test/support/fake-identity.ts';
import { startFaultyProxy } from '../test/support/faulty-proxy.ts';
import { prepareRun } from '../test/support/global-setup.ts';
import { issuesPath } from '../test/support/issues.ts';
import { startIssuesService } from '../test/support/issues-service.ts';
import { aPerson } from '../test/support/people.ts';
import { createTestDatabase, openTestDatabase } from '../test/support/test-database.ts';
import { trackerEnvironment } from '../test/support/tracker-environment.ts';

const help = `Usage: pnpm bench:import [options]

Fills a real Redmine (packages/dev/trackers/install-redmine.sh) with issues, imports them, edits issues on both sides, and
waits until both sides are in step again. Prints the time, the requests to Redmine per issue, and the memory of the service.
Linux only, as root.

Options:
  --issues <n>     Issues in Redmine. Default: 10000.
  --comments <n>   Comments on each issue. Default: 1.
  --edits <n>      Issues that are edited in Redmine, and as many others here. Default: 200.
  --workers <n>    SYNC_WORKERS. Default: 2.
  --kill           Kills the service twice (SIGKILL) and starts it again: while it imports issues, and comments.
  -h, --help       Print this help.
`;

const pollSeconds = 10;
const quietSeconds = 60;

process.exitCode = await runCommandLine({
  name: 'bench:import',
  help,
  options: {
    issues: { type: 'string', default: '10000' },
    comments: { type: 'string', default: '1' },
    edits: { type: 'string', default: '200' },
    workers: { type: 'string', default: '2' },
    kill: { type: 'boolean', default: false },
  },
  run: async (values) => {
    const [issues, comments, edits, workers] = [
      values.issues,
      values.comments,
      values.edits,
      values.workers,
    ].map(Number) as [number, number, number, number];
    if (![issues, comments, edits, workers].every((value) => Number.isInteger(value) && value >= 0))
      throw new UsageError('the values must be whole numbers');
    if (!canRunRedmine()) throw new UsageError('there is no Redmine, or this is not root');
    const stops: (() => Promise<unknown>)[] = [];
    try {
      return await measure({ issues, comments, edits, workers, isKilled: values.kill }, stops);
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
});

interface Size {
  issues: number;
  comments: number;
  edits: number;
  workers: number;
  isKilled: boolean;
}

async function measure(
  { issues, comments, edits, workers, isKilled }: Size,
  stops: (() => Promise<unknown>)[],
): Promise<number> {
  console.log(`filling Redmine with ${issues} issues …`);
  const postgres = await prepareRun();
  stops.push(postgres.stop);
  const redmine = await startRedmine();
  stops.push(redmine.stop);
  const seeded = await redmine.seedIssues(issues, comments);
  const { url, admin, manager } = redmine.server;
  const http = axios.create({ baseURL: url, headers: { 'X-Redmine-API-Key': admin.key }, proxy: false });
  const { data } = await http.get(`/projects/${seeded.projectId}.json`);
  const proxy = await startFaultyProxy(url, () => undefined);
  const databaseUrl = await createTestDatabase();
  const database = openTestDatabase(databaseUrl);
  const identity = await FakeIdentity.start();
  stops.push(proxy.close, database.close, () => identity.stop());
  const tracker = {
    provider: 'redmine',
    url: proxy.url,
    project: data.project.identifier,
    token: manager.key,
  } as const;
  const environment = trackerEnvironment(tracker, {
    SYNC_WORKERS: String(workers),
    SYNC_POLL_MS: '500',
    SYNC_AUTO: 'linked',
    SYNC_POLL_REMOTE_SECONDS: String(pollSeconds),
  });
  let service = await startIssuesService({ databaseUrl, identity }, environment);
  stops.push(() => service.stop());
  // Tokens last 15 minutes.
  const staff = () => aPerson({ http: service.http, identity }, { is_staff: true });
  const killAt = async (condition: string, atLeast: number): Promise<void> => {
    while ((await count(condition)) < atLeast) await pause(100);
    service.kill();
    await service.ended;
    service = await startIssuesService({ databaseUrl, identity }, environment);
    console.log(`killed and started again with ${await count(condition)} issues`);
  };
  const count = async (condition: string): Promise<number> => {
    const [row] = await database.sql(`SELECT count(*)::int AS count FROM tracker_links WHERE ${condition}`);
    return row?.count ?? 0;
  };
  const until = async (what: string, isDone: () => Promise<boolean>) => {
    const [startedAt, before] = [performance.now(), proxy.count()];
    for (let look = 0; !(await isDone()); look += 1) {
      if (look % 60 === 59) console.log(`  … ${await count('last_synced_at IS NOT NULL')} in step`);
      await pause(500);
    }
    const [seconds, requests] = [(performance.now() - startedAt) / 1000, proxy.count() - before];
    console.log(
      `${what.padEnd(34)} ${seconds.toFixed(0).padStart(6)} s ${String(requests).padStart(8)} requests  ${memoryOf(service.pid)}`,
    );
  };
  const isInStep = async () =>
    (await count('last_synced_at IS NULL OR next_attempt_at IS NOT NULL OR claim_id IS NOT NULL')) === 0;

  console.log(`memory before the import: ${memoryOf(service.pid)}`);
  const [importedAt, requestsBefore] = [performance.now(), proxy.count()];
  await (await staff()).post('/api/v1/sync/import/').expect(202);
  if (isKilled) await killAt('true', issues / 2);
  const importer = await staff();
  await until('issues imported', async () => {
    const { body } = await importer.get('/api/v1/sync/import/').expect(200);
    return body.state === 'finished';
  });
  if (isKilled) await killAt('last_synced_at IS NOT NULL', issues / 2);
  await until('comments imported, all in step', isInStep);
  const [seconds, requests] = [(performance.now() - importedAt) / 1000, proxy.count() - requestsBefore];
  console.log(
    `  ${seconds.toFixed(0)} s, ${(requests / issues).toFixed(2)} requests per issue, ${(issues / seconds).toFixed(0)} issues a second`,
  );

  // A poll begins two minutes before the last change until a poll has found no further change.
  await pause(150_000);
  const before = proxy.count();
  await pause(quietSeconds * 1000);
  const polls = proxy.count() - before;
  console.log(`unchanged for ${quietSeconds} s: ${polls} requests at one poll in ${pollSeconds} s`);

  const [latest] = await database.sql<{ at: Date }>('SELECT clock_timestamp() AS at');
  const rows = await database.sql<{ id: string; remote: string }>(
    `SELECT issue_id AS id, remote_id AS remote FROM tracker_links ORDER BY random() LIMIT ${2 * edits}`,
  );
  for (const { remote } of rows.slice(0, edits))
    await http.put(`/issues/${remote}.json`, { issue: { subject: `Edited there ${remote}` } });
  const editor = await staff();
  for (const { id } of rows.slice(edits))
    await editor.put(`${issuesPath}${id}/`, { title: 'Edited here' }).expect(200);
  const after = latest?.at.toISOString() ?? '';
  await until(`${2 * edits} edits in step again`, async () => {
    const ids = rows.map(({ id }) => `'${id}'`).join(',');
    const behind =
      rows.length === 0 ? 0 : await count(`issue_id IN (${ids}) AND last_synced_at < '${after}'`);
    return behind === 0 && (await isInStep());
  });

  const wrong = await compare();
  console.log(wrong.length === 0 ? 'both sides are equal' : `NOT equal: ${wrong.slice(0, 5).join('; ')}`);
  return wrong.length === 0 && polls <= quietSeconds / pollSeconds + 1 ? 0 : 1;

  async function compare(): Promise<string[]> {
    const here = new Map(
      (
        await database.sql<{ remote: string; title: string; comments: number }>(
          `SELECT t.remote_id AS remote, i.title, i.comments_count AS comments
             FROM issues i JOIN tracker_links t ON t.issue_id = i.id`,
        )
      ).map(({ remote, ...issue }) => [remote, issue]),
    );
    const differences: string[] = [];
    if (here.size !== issues) differences.push(`${here.size} issues here`);
    for (let offset = 0; offset < issues; offset += 100) {
      const query = { project_id: seeded.projectId, status_id: '*', sort: 'id', limit: 100, offset };
      const { data: page } = await http.get('/issues.json', { params: query });
      for (const { id, subject } of page.issues) {
        const issue = here.get(String(id));
        if (issue?.title !== subject || issue?.comments !== comments)
          differences.push(`#${id}: ${subject} / ${issue?.title}, ${issue?.comments} comments`);
      }
    }
    return differences;
  }
}

// proc(5): the resident memory, and its maximum.
function memoryOf(pid: number | undefined): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024);
  return `RSS ${of('VmRSS')} MiB, at most ${of('VmHWM')} MiB`;
}
