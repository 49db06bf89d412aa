import { type WordTable, wordVector } from '@tessera/service-kit';

interface Names {
  username: string;
  displayName: string | null;
  email: string;
}

/** The words by which a person is found, and those for staff, as literals of `tsvector`. The display name has the weight B. */
export function personWords({ username, displayName, email }: Names): { words: string; staffWords: string } {
  const names = [
    { text: username, weight: 'A' },
    { text: displayName ?? '', weight: 'B' },
  ] as const;
  return { words: wordVector(...names), staffWords: wordVector(...names, { text: email, weight: 'C' }) };
}

/** The people whose words earlier releases have stored. */
export const peopleWordTable: WordTable<Names & { id: string }> = {
  name: 'people',
  select: `SELECT id, username, display_name AS "displayName", email FROM identity_mirror
    WHERE id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE`,
  wordsOf: personWords,
  update: `UPDATE identity_mirror m SET words = r.words::tsvector, staff_words = r."staffWords"::tsvector
    FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, words text, "staffWords" text) WHERE m.id = r.id`,
};
