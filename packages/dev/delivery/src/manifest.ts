import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** A Kubernetes object, as far as every kind has the same shape. */
export type Manifest = z.infer<typeof manifestSchema>;

/** The objects of a file. Throws at what is not YAML, such as a key that stands there twice. */
export function readManifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if ('errors' in document && document.errors[0] !== undefined) throw document.errors[0];
    const content: unknown = document.toJS();
    return content === null ? [] : [manifestSchema.parse(content)];
  });
}

/** How a message names an object. */
export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`;
}
