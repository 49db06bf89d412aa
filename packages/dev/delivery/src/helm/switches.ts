import { renderComponents } from '../kustomize.ts';
import { type Manifest, nameOf } from '../manifest.ts';

/** A value of the chart that adds a component of k8s/. */
export interface Switch {
  value: string;
  component: string;
  /** Whether the production overlay has the component. */
  isOn: boolean;
  /** A component whose objects this one changes. */
  needs?: string;
}

export const switches: readonly Switch[] = [
  { value: 'backup', component: 'backup', isOn: true },
  { value: 'ingress', component: 'ingress', isOn: true },
  { value: 'httpRoute', component: 'http-route', isOn: false },
  { value: 'autoscaling', component: 'scaling', isOn: true },
  { value: 'databaseTls', component: 'database-tls', isOn: true },
  { value: 'monitoring', component: 'monitoring', isOn: false },
  { value: 'openshift', component: 'openshift', isOn: false, needs: 'backup' },
];

const rendered = new Map<string, Map<string, Manifest>>();

/** The manifests that kustomize renders, without the Namespace, which Helm creates. */
export function renderSwitches(on: readonly Switch[]): Map<string, Manifest> {
  const components = switches
    .filter((one) => on.includes(one) || on.some(({ needs }) => needs === one.component))
    .map(({ component }) => component);
  const key = components.join();
  const known = rendered.get(key);
  if (known !== undefined) return known;
  const manifests = renderComponents(components).filter(({ kind }) => kind !== 'Namespace');
  const byName = new Map(manifests.map((manifest) => [nameOf(manifest), manifest]));
  rendered.set(key, byName);
  return byName;
}
