import { ConfigError } from '@tessera/service-kit';
import { builtInMessages, type MessageKey, type Messages, placeholdersOf } from './messages.ts';

const maxLength = 600;
const english = builtInMessages.en as Messages;

/**
 * Reads texts of an operator: an object of keys and texts. Keys that `base` has and the file lacks keep their text. Throws a
 * `ConfigError` that names each unknown or missing key, and each text with other values than the English one.
 * @param base the texts of the language; undefined if it is new
 */
export function parseMessages(source: string, json: string, base: Messages | undefined): Messages {
  const given = parseObject(source, json);
  const problems = Object.entries(given).flatMap(([key, text]) => {
    const problem = problemOf(key, text);
    return problem === undefined ? [] : [`${source}: ${JSON.stringify(key.slice(0, 100))} ${problem}`];
  });
  const messages = { ...base, ...given };
  for (const key of Object.keys(english))
    if (!Object.hasOwn(messages, key)) problems.push(`${source}: "${key}" is missing`);
  if (problems.length > 0) throw new ConfigError(problems);
  return messages as Messages;
}

function parseObject(source: string, json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json.replace(/^\ufeff/, ''));
  } catch {
    throw new ConfigError([`${source}: is not JSON`]);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigError([`${source}: is not an object of keys and texts`]);
  return value as Record<string, unknown>;
}

function problemOf(key: string, text: unknown): string | undefined {
  if (!Object.hasOwn(english, key)) return 'is not a key';
  if (typeof text !== 'string' || text.trim() === '') return 'must be a text';
  if (text.length > maxLength) return `is longer than ${maxLength} characters`;
  const expected = placeholdersOf(english[key as MessageKey]);
  if (placeholdersOf(text).join() !== expected.join())
    return expected.length === 0
      ? 'must contain no {value}'
      : `must contain ${expected.map((name) => `{${name}}`).join(' and ')}`;
  return undefined;
}
