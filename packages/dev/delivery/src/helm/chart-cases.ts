import type { Manifest } from '../manifest.ts';
import type { Release } from './render-chart.ts';
import { renderSwitches, type Switch, switches } from './switches.ts';

const isComplete = (on: readonly Switch[]) =>
  on.every(({ needs }) => needs === undefined || on.some(({ component }) => component === needs));

/** Sets of switches: none, all, those of production, each one alone, and all but one. */
export const switchSets: readonly (readonly Switch[])[] = [
  [],
  switches,
  switches.filter(({ isOn }) => isOn),
  ...switches.map((one) => [one]),
  ...switches.map((one) => switches.filter((other) => other !== one)),
].filter(isComplete);

/** The values of a set of switches, with the images of the base. */
export function valuesFor(on: readonly Switch[]): Record<string, object> {
  const enabled = switches.map((one) => [one.value, { enabled: on.includes(one) }] as const);
  const images = ['identity', 'issues'].map(
    (service) => [service, { image: `tessera/${service}:local` }] as const,
  );
  return Object.fromEntries([...enabled, ...images]);
}

/** The manifests of kustomize, which the chart must render, with the one difference that Jobs are named by release. */
export function expectedManifests(on: readonly Switch[], { namespace, revision }: Release): Manifest[] {
  return [...renderSwitches(on).values()].map((manifest) => {
    const copy = structuredClone(manifest);
    copy.metadata.namespace = namespace;
    if (copy.kind === 'Job') copy.metadata.name += `-${revision}`;
    return copy;
  });
}
