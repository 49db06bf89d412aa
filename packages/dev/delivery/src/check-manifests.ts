import { findBrokenRules } from './delivery-rules.ts';
import { findSchemaProblems } from './kubernetes-schema.ts';
import type { Manifest } from './manifest.ts';
import { findPodSecurityProblems } from './pod-security.ts';
import { findDanglingReferences } from './references.ts';

/**
 * Everything that is wrong with a set of manifests that belong together, one line a problem: shape first, as the rest
 * needs a shape.
 */
export async function checkManifests(manifests: readonly Manifest[]): Promise<string[]> {
  const shape = findSchemaProblems(manifests);
  if (shape.length > 0) return shape;
  return [
    ...(await findPodSecurityProblems(manifests)),
    ...findDanglingReferences(manifests),
    ...findBrokenRules(manifests),
  ];
}
