import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import jsonPatch from 'fast-json-patch';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Manifest, readManifests } from './manifest.ts';
import { rootDir } from './repository.ts';

// Strict: rejects kustomize features that this renderer does not implement.
const kustomizationSchema = z.strictObject({
  apiVersion: z.string().startsWith('kustomize.config.k8s.io/'),
  kind: z.enum(['Kustomization', 'Component']),
  resources: z.array(z.string()).default([]),
  components: z.array(z.string()).default([]),
  images: z
    .array(
      z.strictObject({ name: z.string(), newName: z.string().optional(), newTag: z.string().optional() }),
    )
    .default([]),
  patches: z
    .array(
      z.strictObject({ target: z.strictObject({ kind: z.string(), name: z.string() }), patch: z.string() }),
    )
    .default([]),
});
type Kustomization = z.infer<typeof kustomizationSchema>;

const patchSchema = z.array(
  z.discriminatedUnion('op', [
    z.strictObject({ op: z.literal('add'), path: z.string(), value: z.json() }),
    z.strictObject({ op: z.literal('replace'), path: z.string(), value: z.json() }),
    z.strictObject({ op: z.literal('remove'), path: z.string() }),
  ]),
);

/**
 * Renders a folder like `kustomize build`, for the features that k8s/ uses: resources, components, images and JSON patches
 * (RFC 6902). The checks therefore need no kustomize; prove-kustomize compares the results.
 */
export function renderKustomization(folder: string): Manifest[] {
  return apply(folder, []);
}

/** Renders the base with components of k8s/, in this order. */
export function renderComponents(names: readonly string[]): Manifest[] {
  const base = renderKustomization(join(rootDir, 'k8s/base'));
  return names.reduce((manifests, name) => apply(join(rootDir, 'k8s/components', name), manifests), base);
}

function apply(folder: string, inherited: Manifest[]): Manifest[] {
  const file = join(folder, 'kustomization.yaml');
  const { resources, components, images, patches } = kustomizationSchema.parse(
    parse(readFileSync(file, 'utf8')),
  );
  let manifests = [...inherited, ...resources.flatMap((path) => readResource(join(folder, path)))];
  for (const path of components) manifests = apply(join(folder, path), manifests);
  for (const patch of patches) applyPatch(manifests, patch, file);
  for (const image of images) setImage(manifests, image);
  return manifests;
}

function readResource(path: string): Manifest[] {
  if (existsSync(join(path, 'kustomization.yaml'))) return apply(path, []);
  return readManifests(readFileSync(path, 'utf8'));
}

function applyPatch(
  manifests: Manifest[],
  { target, patch }: Kustomization['patches'][number],
  file: string,
): void {
  const found = manifests.filter(
    ({ kind, metadata }) => kind === target.kind && metadata.name === target.name,
  );
  if (found.length === 0) throw new Error(`${file}: there is no ${target.kind}/${target.name} to patch.`);
  const operations = patchSchema.parse(parse(patch));
  for (const manifest of found) jsonPatch.applyPatch(manifest, operations, true);
}

function setImage(value: unknown, image: Kustomization['images'][number]): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const [, name, tag] =
      key === 'image' && typeof member === 'string' ? (/^(.+):([^:/]+)$/.exec(member) ?? []) : [];
    if (name === image.name) Reflect.set(value, key, `${image.newName ?? name}:${image.newTag ?? tag}`);
    else setImage(member, image);
  }
}
