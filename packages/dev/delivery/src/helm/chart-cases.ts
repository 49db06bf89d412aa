import type { Manifest } from '../manifest.ts';
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

/** The manifests of kustomize, which the chart must render. */
export function expectedManifests(on: readonly Switch[]): Manifest[] {
  return ofFirstRevision([...renderSwitches(on).values()]);
}

/** The one difference between the chart and kustomize: each revision of a release has Jobs of its own. */
export function ofFirstRevision(manifests: readonly Manifest[]): Manifest[] {
  return manifests.map((manifest) => {
    const copy = structuredClone(manifest);
    if (copy.kind === 'Job') copy.metadata.name += '-1';
    return copy;
  });
}
