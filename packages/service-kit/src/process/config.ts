import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The error for an invalid environment. Lists all problems by variable name, without values. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(`The configuration is invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * A rule over several variables: returns problems, each starting with a variable's name. Invalid variables are absent;
 * `invalid` has their names.
 */
export type ConfigRule<Output> = (read: Partial<Output>, invalid: ReadonlySet<string>) => string[];

/**
 * Parses a service's environment by its schema. A variable set to the empty string counts as not set.
 * For each name in `secretNames`, `NAME_FILE` may give the path of a file with the value, as Kubernetes and compose
 * pass secrets. `rule` checks several variables together. Throws a `ConfigError` with all problems.
 */
export function readConfig<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: Record<string, string | undefined>,
  secretNames: readonly string[] = [],
  rule: ConfigRule<z.output<z.ZodObject<Shape>>> = () => [],
): z.output<z.ZodObject<Shape>> {
  const problems: string[] = [];
  const given = readGiven(environment, secretNames, problems);
  const result = schema.safeParse(given);
  // Does not report an unreadable file as a missing variable, too.
  const unread = new Set(problems.map(variableOf));
  for (const { path, message } of result.error?.issues ?? []) {
    if (!unread.has(String(path[0]))) problems.push(`${path.join('.') || 'environment'}: ${message}`);
  }
  const named = new Set(problems.map(variableOf));
  const usable = result.success ? result.data : parseUsable(schema, given);
  problems.push(...rule(usable, named).filter((problem) => !named.has(variableOf(problem))));
  if (problems.length > 0 || !result.success) throw new ConfigError(problems);
  return result.data;
}

function readGiven(
  environment: Record<string, string | undefined>,
  secretNames: readonly string[],
  problems: string[],
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value !== '') given[name] = value;
  }
  for (const name of secretNames) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) problems.push(`${name}: is set twice, also as ${name}_FILE`);
    try {
      const content = readFileSync(path, 'utf8').trimEnd();
      if (content !== '') given[name] = content;
    } catch {
      problems.push(`${name}_FILE: the file cannot be read`);
    }
  }
  return given;
}

function variableOf(problem: string): string {
  return problem.replace(/(_FILE)?:.*$/s, '');
}

// Returns the variables that are valid individually, so that rules can be checked although other variables are invalid.
function parseUsable<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  given: Record<string, string>,
): Partial<z.output<z.ZodObject<Shape>>> {
  const entries = Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, member]) => {
    const result = z.safeParse(member, given[name]);
    return result.success ? [[name, result.data] as const] : [];
  });
  return Object.fromEntries(entries) as Partial<z.output<z.ZodObject<Shape>>>;
}

/** An integer variable with inclusive bounds and a default, in the unit that its name states. */
export function integer(bounds: { min: number; max: number; default: number }) {
  const range = `must be an integer from ${bounds.min} to ${bounds.max}`;
  return z
    .string()
    .regex(/^-?\d{1,15}$/, { error: range })
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max, { error: range })
    .meta({ values: `${bounds.min} to ${bounds.max}` })
    .default(bounds.default);
}

/** `true`/`on`/`1` or `false`/`off`/`0`. */
export function flag(fallback: boolean) {
  return z
    .enum(['true', 'on', '1', 'false', 'off', '0'], { error: 'must be on or off' })
    .transform((value) => value === 'true' || value === 'on' || value === '1')
    .default(fallback);
}

/**
 * Returns a URL in its one spelling: scheme and host in lower case, no default port, no white space around it, and no slash
 * after the host if there is no path. Other text is unchanged.
 */
export function normalUrl(value: string): string {
  return URL.canParse(value) ? new URL(value).href.replace(/^([a-z]+:\/\/[^/]+)\/$/, '$1') : value;
}

/** A comma-separated list; items are trimmed, empty ones dropped. */
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
