import { z } from 'zod';
import { run } from './command.ts';

const secretSchema = z.looseObject({ data: z.record(z.string(), z.string()) });

/** The namespace of the manifests, through kubectl. */
export class Cluster {
  readonly #kubectl: string[];

  constructor(kubectl: string) {
    this.#kubectl = [...kubectl.split(' '), '--namespace', 'tessera'];
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    const [program = '', ...before] = this.#kubectl;
    return run(program, [...before, ...args], input === undefined ? {} : { input });
  }

  async rollOut(...services: string[]): Promise<void> {
    for (const service of services) {
      await this.kubectl(['rollout', 'restart', `deployment/${service}`]);
      await this.waitFor(service);
    }
  }

  async waitFor(service: string): Promise<void> {
    await this.kubectl(['rollout', 'status', `deployment/${service}`, '--timeout=300s']);
  }

  async readSecret(name: string): Promise<Record<string, string>> {
    const { data } = secretSchema.parse(
      JSON.parse(await this.kubectl(['get', 'secret', name, '--output', 'json'])),
    );
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  async urlOf(service: string): Promise<string> {
    return `http://${await this.kubectl(['get', 'service', service, '--output', 'jsonpath={.spec.clusterIP}'])}`;
  }

  /** Deletes one pod of a service, as draining its node does. */
  async losePod(selector: string): Promise<void> {
    const [name = ''] = (
      await this.kubectl(['get', 'pods', '--selector', selector, '--output', 'name'])
    ).split('\n');
    await this.kubectl(['delete', name]);
  }

  /** The names of the services' pods, without those of Jobs and databases. */
  async listPods(): Promise<string[]> {
    const selector = 'app.kubernetes.io/component=service';
    return (await this.kubectl(['get', 'pods', '--selector', selector, '--output', 'name']))
      .trim()
      .split('\n')
      .sort();
  }

  /** Runs a statement in the database of a service. Returns one line per row. */
  async query(service: string, statement: string): Promise<string> {
    const psql = ['psql', '--username=postgres', `--dbname=${service}`, '--tuples-only', '--no-align'];
    const output = await this.kubectl([
      'exec',
      `${service}-postgres-0`,
      '--',
      ...psql,
      '--command',
      statement,
    ]);
    return output.trim();
  }
}
