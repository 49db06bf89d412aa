// The parts of the proof on a cluster in which data could be lost: a migration that fails, and a lost volume.
import type { Cluster } from './cluster.ts';
import { shellBlock } from './code-blocks.ts';
import type { Runbooks } from './runbooks.ts';

interface Options {
  cluster: Cluster;
  runbooks: Runbooks;
  print: (text: string) => void;
}

const services = ['identity', 'issues'];

/** Upgrades to a release whose migrations fail, and then to one without. @throws if the running release is affected */
export async function failMigration({ cluster, runbooks, print }: Options): Promise<void> {
  const upgrade = shellBlock('docs/operations/upgrade.md', 'On Kubernetes', 0);
  const sql = 'CREATE TABLE half_done (id int); SELECT no_such_column FROM half_done;';
  await cluster.kubectl(['create', 'configmap', 'failing-migration', `--from-literal=migration.sql=${sql}`]);
  const podsBefore = await cluster.listPods();
  runbooks.release({ failing: true });
  const startedAt = performance.now();
  const error = await runbooks.paste(upgrade).then(
    () => undefined,
    (reason: unknown) => String(reason),
  );
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  if (!error?.includes('29991231000000_fails failed')) throw new Error(`The log was not printed: ${error}`);
  print(`The failed migration was reported after ${seconds} s.`);
  if (seconds > 60) throw new Error('The failed migration was reported after more than a minute.');
  const log = await cluster.kubectl(['logs', '--selector', 'job-name=identity-migrate', '--tail=5']);
  if (!log.includes('29991231000000_fails failed')) throw new Error(`The log was not kept: ${log}`);
  const podsAfter = await cluster.listPods();
  if (podsAfter.join() !== podsBefore.join()) throw new Error(`The pods changed: ${podsBefore} ${podsAfter}`);
  runbooks.release();
  print(await runbooks.paste(upgrade));
  const [state] = (
    await cluster.query(
      'identity',
      "SELECT coalesce(to_regclass('half_done')::text, 'none') || ' ' || count(*) FILTER (WHERE finished_at IS NULL AND rolled_back_at IS NULL) FROM _prisma_migrations",
    )
  ).split('\n');
  if (state !== 'none 0') throw new Error(`The failed migration left something behind: ${state}`);
}

/** Backs up both databases with the runbook's block. Returns the file of issues. */
export async function backUp({ runbooks, print }: Options): Promise<string> {
  const block = shellBlock('docs/operations/backup.md', 'On Kubernetes', 0);
  print(await runbooks.paste(block));
  const output = await runbooks.paste(block.replace('SERVICE=identity', 'SERVICE=issues'));
  print(output);
  const [file] = /\/backups\/issues-\w+\.dump/.exec(output) ?? [];
  if (file === undefined) throw new Error(`The file was not printed: ${output}`);
  return file;
}

/**
 * Deletes both database servers with their volumes, creates empty ones and restores the backups with the runbook's block: the
 * newest of identity, and the given file of issues.
 */
export async function loseVolumesAndRestore(
  { cluster, runbooks, print }: Options,
  issuesFile: string,
): Promise<void> {
  for (const service of services) {
    await cluster.kubectl(['delete', `statefulset/${service}-postgres`]);
    await cluster.kubectl(['wait', '--for=delete', `pod/${service}-postgres-0`, '--timeout=120s']);
    await cluster.kubectl(['delete', `persistentvolumeclaim/data-${service}-postgres-0`]);
  }
  await runbooks.paste('kubectl apply --kustomize k8s/overlays/production');
  for (const service of services)
    await cluster.kubectl(['rollout', 'status', `statefulset/${service}-postgres`, '--timeout=300s']);
  const block = shellBlock('docs/operations/backup.md', 'On Kubernetes', 1);
  const of = (service: string, file = '') =>
    block.replace('SERVICE= FILE=', `SERVICE=${service} FILE=${file}`);
  const wrong = of('identity', '/backups/missing.dump');
  const refused = await runbooks.paste(wrong).catch(String);
  if (!refused.includes('There is no backup /backups/missing.dump. The backups:\n/backups/identity-'))
    throw new Error(`A missing file was not refused: ${refused}`);
  print(await runbooks.paste(of('identity')));
  print(await runbooks.paste(of('issues', issuesFile)));
}
