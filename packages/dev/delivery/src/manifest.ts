import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

interface ParseOptions {
  /** Of YAML; 1.2 by default. */
  version?: '1.1';
}

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});

/** The fields that all Kubernetes objects have. */
export type Manifest = z.infer<typeof manifestSchema>;

/** Parses the objects of a file. @throws for invalid YAML, such as a duplicate key */
export function readManifests(text: string, options: ParseOptions = {}): Manifest[] {
  return parseAllDocuments(text, options).flatMap((document) => {
    if ('errors' in document && document.errors[0] !== undefined) throw document.errors[0];
    const content: unknown = document.toJS();
    return content === null ? [] : [manifestSchema.parse(content)];
  });
}

/** The name of an object in messages. */
export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`;
}
