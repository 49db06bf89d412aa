import {
  migrationEnvironment,
  migrationSecretNames,
  migrationVariableReference,
  serviceVariableReference,
  type VariableEntry,
} from '@tessera/service-kit';
import { z } from 'zod';
import * as identity from '../../../../../apps/identity/src/config.ts';
import { environmentReference as identityReference } from '../../../../../apps/identity/src/environment-reference.ts';
import * as issues from '../../../../../apps/issues/src/config.ts';
import {
  environmentReference as issuesReference,
  trackerReference,
} from '../../../../../apps/issues/src/environment-reference.ts';
import { code, codes, table } from './table.ts';

const introduction = `An empty string counts as not set. A variable marked † can be read from a file instead: \`NAME_FILE=/path\`. If values are invalid,
the process exits with code 78 (\`migrate.js\`: 1) and names every invalid variable, without its value.`;

/** docs/reference/environment.md: from the schemas that parse the variables, and the meanings beside them. */
export function environmentPage(): string {
  const own = new Set([...Object.keys(identityReference), ...Object.keys(issuesReference)]);
  const common = Object.entries(serviceVariableReference).filter(([name]) => !own.has(name));
  const ports = [identity, issues].map((app) => app.environmentSchema.shape.PORT.parse(undefined));
  return [
    '# Environment',
    introduction,
    '## Both services',
    variables(identity, Object.fromEntries(common), { PORT: codes(ports.map(String)) }),
    '## identity',
    variables(identity, identityReference),
    '## issues',
    variables(issues, issuesReference),
    '## The external tracker',
    'issues syncs with one tracker; [set up a tracker](../tracker-sync/set-up.md) has the values for each kind.',
    variables(issues, trackerReference),
    '## The migrator',
    '`node dist/migrate.js` of both services reads these variables; `--help` prints its options.',
    variables(
      { environmentSchema: migrationEnvironment, secretNames: migrationSecretNames },
      migrationVariableReference,
    ),
  ].join('\n\n');
}

interface Environment {
  readonly environmentSchema: z.ZodObject;
  readonly secretNames: readonly string[];
}

function variables(
  { environmentSchema, secretNames }: Environment,
  reference: Readonly<Record<string, VariableEntry>>,
  defaults: Readonly<Record<string, string>> = {},
): string {
  const { properties = {} } = z.toJSONSchema(environmentSchema, { io: 'input', unrepresentable: 'any' });
  const rows = Object.entries(reference).map(([name, entry]) => {
    const schema = properties[name];
    if (typeof schema !== 'object') throw new Error(`No schema parses ${name}.`);
    const given = typeof entry === 'string' ? undefined : entry.default;
    const unset = z.safeParse(environmentSchema.shape[name] ?? z.never(), undefined);
    return [
      secretNames.includes(name) ? `${code(name)} †` : code(name),
      defaults[name] ?? given ?? (unset.success ? defaultOf(schema, unset.data) : 'required'),
      typeof unset.data === 'boolean' && schema.enum !== undefined ? codes(['on', 'off']) : valuesOf(schema),
      typeof entry === 'string' ? entry : entry.meaning,
    ];
  });
  return table(['variable', 'default', 'values', 'meaning'], rows);
}

type Schema = z.core.JSONSchema.BaseSchema;

/** A text is the default before it is parsed. */
function defaultOf({ default: text }: Schema, parsed: unknown): string {
  if (typeof parsed === 'boolean') return code(parsed ? 'on' : 'off');
  if (typeof parsed === 'number') return code(String(parsed));
  return typeof text === 'string' ? code(text) : '';
}

/** The range of a number, or the choices. */
function valuesOf({ enum: choices, values }: Schema): string {
  return choices === undefined ? String(values ?? '') : codes(choices.map(String));
}
