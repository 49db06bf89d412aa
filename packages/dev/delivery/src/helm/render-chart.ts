import { parse } from 'yaml';
import { z } from 'zod';
import { type Manifest, readManifests } from '../manifest.ts';

/** The files of a chart, by path. */
export type Chart = ReadonlyMap<string, string>;

export interface Release {
  namespace: string;
  revision: number;
}

// In the version of YAML that Helm reads, `on` and `off` are not strings.
export const helmYaml = { version: '1.1' } as const;

type Values = Record<string, unknown>;

const condition = /^ *\{\{- if (not )?\.Values\.([\w.]+) \}\}$/;
const end = /^ *\{\{- end \}\}$/;
const action =
  /\{\{ (?:\.Values\.([\w.]+) \| toJson|\.Release\.(Namespace) \| toJson|\.Release\.(Revision)|"\{\{") \}\}/g;

/**
 * Renders a chart like `helm template`, for the part of the template language that the generated chart uses. Rejects
 * everything else; prove-helm compares the results with Helm's.
 */
export function renderChart(chart: Chart, overrides: Values, release: Release): Manifest[] {
  const values = mergeValues(readValues(chart), overrides);
  return [...chart]
    .filter(([path]) => path.startsWith('templates/'))
    .flatMap(([path, text]) => readManifests(renderTemplate(text, values, release, path), helmYaml));
}

/** The defaults of a chart. */
export function readValues(chart: Chart): Values {
  return z.record(z.string(), z.unknown()).parse(parse(chart.get('values.yaml') ?? '', helmYaml));
}

function renderTemplate(text: string, values: Values, release: Release, path: string): string {
  const open: boolean[] = [];
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const [isCondition, not, name = ''] = condition.exec(line) ?? [];
    if (isCondition !== undefined) open.push(Boolean(valueAt(values, name)) !== (not !== undefined));
    else if (end.test(line)) {
      if (open.pop() === undefined) throw new Error(`${path}: an end without an if`);
    } else if (open.every(Boolean)) lines.push(renderLine(line, values, release, path));
    else renderLine(line, values, release, path);
  }
  if (open.length > 0) throw new Error(`${path}: an if without an end`);
  return lines.join('\n');
}

function renderLine(line: string, values: Values, { namespace, revision }: Release, path: string): string {
  const rest = line.replaceAll(action, '');
  if (rest.includes('{{')) throw new Error(`${path}: unknown template: ${line}`);
  return line.replaceAll(action, (_all, value?: string, isNamespace?: string, isRevision?: string) => {
    if (isNamespace !== undefined) return JSON.stringify(namespace);
    if (isRevision !== undefined) return String(revision);
    return value === undefined ? '{{' : JSON.stringify(valueAt(values, value));
  });
}

function valueAt(values: Values, path: string): unknown {
  let found: unknown = values;
  for (const key of path.split('.'))
    found = typeof found === 'object' && found !== null ? Reflect.get(found, key) : undefined;
  if (found === undefined) throw new Error(`There is no value ${path}.`);
  return found;
}

const isTree = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Values of the user over defaults, as Helm merges them: lists and scalars are replaced. */
export function mergeValues(defaults: Values, overrides: Values): Values {
  const merged = { ...defaults };
  for (const [key, value] of Object.entries(overrides)) {
    const before = merged[key];
    merged[key] = isTree(before) && isTree(value) ? mergeValues(before, value) : value;
  }
  return merged;
}
