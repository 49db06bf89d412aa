import type { Issue, Person } from '@tessera/contracts';
import type { References } from '../markdown/references.ts';

/** What a text of an issue can refer to. */
export const referencesOf = ({ key }: Issue, people: readonly Person[]): References => ({
  prefix: key.slice(0, key.lastIndexOf('-')),
  people,
});
