import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** All problems of an environment at once, by variable name; never their values. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads a service's environment through its schema. A variable set to the empty string counts as not set.
 * For each name in `secretNames`, `NAME_FILE` may hold the path of a file with the value instead, which is how
 * Kubernetes and compose hand over secrets.
 */
export function readConfig<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
  secretNames: readonly string[] = [],
): z.output<Schema> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value !== '') given[name] = value;
  }
  const fileProblems = readSecretFiles(given, secretNames);
  const result = schema.safeParse(given);
  // What a file should have given is not reported a second time as missing.
  const schemaProblems = (result.error?.issues ?? [])
    .filter((issue) => !fileProblems.has(String(issue.path[0])))
    .map((issue) => `${issue.path.join('.') || 'environment'}: ${issue.message}`);
  if (fileProblems.size > 0 || !result.success) {
    throw new ConfigError([...fileProblems.values(), ...schemaProblems]);
  }
  return result.data;
}

// Puts the files' contents into `given`; answers the problem of each secret that has one.
function readSecretFiles(given: Record<string, string>, names: readonly string[]): Map<string, string> {
  const problems = new Map<string, string>();
  for (const name of names) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) problems.set(name, `${name}: is given twice, also as ${name}_FILE`);
    try {
      const content = readFileSync(path, 'utf8').trimEnd();
      if (content !== '') given[name] = content;
    } catch {
      problems.set(name, `${name}_FILE: the file cannot be read`);
    }
  }
  return problems;
}

/** An integer variable with inclusive bounds and a default, in the unit that its name says. */
export function integer(bounds: { min: number; max: number; default: number }) {
  const range = `must be an integer from ${bounds.min} to ${bounds.max}`;
  return z
    .string()
    .regex(/^-?\d{1,15}$/, { error: range })
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max, { error: range })
    .default(bounds.default);
}

/** `true`/`on`/`1` or `false`/`off`/`0`. */
export function flag(fallback: boolean) {
  return z
    .enum(['true', 'on', '1', 'false', 'off', '0'], { error: 'must be on or off' })
    .transform((value) => value === 'true' || value === 'on' || value === '1')
    .default(fallback);
}

/** A comma-separated list; blanks around items are dropped, and so are empty items. */
export function list() {
  return z
    .string()
    .transform((value) =>
      value
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .default([]);
}
