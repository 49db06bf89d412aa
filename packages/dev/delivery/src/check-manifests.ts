import { findBrokenRules } from './delivery-rules.ts';
import { findSchemaProblems } from './kubernetes-schema.ts';
import type { Manifest } from './manifest.ts';
import { findPodSecurityProblems } from './pod-security.ts';
import { findDanglingReferences } from './references.ts';

/** The problems of a complete set of manifests, one line each. The other checks run only if the schemas match. */
export async function checkManifests(manifests: readonly Manifest[]): Promise<string[]> {
  const shape = findSchemaProblems(manifests);
  if (shape.length > 0) return shape;
  return [
    ...(await findPodSecurityProblems(manifests)),
    ...findDanglingReferences(manifests),
    ...findBrokenRules(manifests),
  ];
}
