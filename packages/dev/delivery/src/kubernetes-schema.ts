import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { z } from 'zod';
import { type Manifest, nameOf } from './manifest.ts';

const schemaFile = new URL('../schema/kubernetes.schema.json', import.meta.url);
const { definitionOf, ...schema } = z
  .looseObject({ definitionOf: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(schemaFile, 'utf8')));

const ajv = new Ajv({ allErrors: true, strict: false });
ajv.addSchema(schema, 'kubernetes');
const validators = new Map<string, ValidateFunction>();

/** Violations of Kubernetes' own schema, including unknown fields, one line each. */
export function findSchemaProblems(manifests: readonly Manifest[]): string[] {
  return manifests.flatMap((manifest) => {
    const definition = definitionOf[`${manifest.apiVersion}/${manifest.kind}`];
    if (definition === undefined) return [`${nameOf(manifest)}: no such kind in ${manifest.apiVersion}`];
    const validate =
      validators.get(definition) ?? ajv.compile({ $ref: `kubernetes#/definitions/${definition}` });
    validators.set(definition, validate);
    if (validate(manifest)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      `${nameOf(manifest)}${instancePath}: ${message} ${params.additionalProperty ?? ''}`.trimEnd(),
    );
  });
}
