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

  /** Replaces all keys of a Secret. */
  async writeSecret(name: string, values: Record<string, string>): Promise<void> {
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    const patch = JSON.stringify([{ op: 'replace', path: '/data', value: data }]);
    await this.kubectl(['patch', 'secret', name, '--type', 'json', '--patch', patch]);
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
}
