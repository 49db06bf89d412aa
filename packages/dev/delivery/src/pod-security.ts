import { createDefaultMonokleValidator, processRefs, ResourceParser } from '@monokle/validation';
import { stringify } from 'yaml';
import { type Manifest, nameOf } from './manifest.ts';

// The rules of `restricted`; some are disabled by default.
const rules = Object.fromEntries(
  [
    'volume-types',
    'privilege-escalation',
    'running-as-non-root',
    'running-as-non-root-user',
    'seccomp-strict',
    'capabilities-strict',
  ].map((rule) => [`pod-security-standards/${rule}`, 'err' as const]),
);

/** Violations of the `restricted` Pod Security standard, one line each. */
export async function findPodSecurityProblems(manifests: readonly Manifest[]): Promise<string[]> {
  const resources = manifests.map((content, index) => ({
    id: String(index),
    fileId: nameOf(content),
    filePath: nameOf(content),
    fileOffset: 0,
    name: content.metadata.name,
    apiVersion: content.apiVersion,
    kind: content.kind,
    namespace: content.metadata.namespace ?? 'default',
    content,
    text: stringify(content),
  }));
  const validator = createDefaultMonokleValidator();
  await validator.preload({ plugins: { 'pod-security-standards': true }, settings: {}, rules });
  processRefs(resources, new ResourceParser());
  const { runs } = await validator.validate({ resources });
  const problems = runs.flatMap(({ results }) =>
    results.map(
      ({ ruleId, message, locations }) =>
        `${locations?.[1]?.physicalLocation?.artifactLocation?.uri ?? ''}: ${message.text} (${ruleId})`,
    ),
  );
  return [...new Set(problems)];
}
