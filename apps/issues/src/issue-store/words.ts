import { type WordTable, wordVector } from '@tessera/service-kit';

// Literals of `tsvector`. The limits are those of the specification of the search in contracts.

export function titleWords(title: string): string {
  return wordVector({ text: title, weight: 'A' });
}

export function descriptionWords(description: string): string {
  return wordVector({ text: description, limit: 20_000, weight: 'B' });
}

/** A search reads those of 4,000 comments without an index. */
export function commentWords(body: string): string {
  return wordVector({ text: body, limit: 4_000 });
}

const issues: WordTable<{ id: string; title: string; description: string }> = {
  name: 'issues',
  select: 'SELECT id, title, description FROM issues WHERE id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE',
  wordsOf: ({ title, description }) => ({
    title: titleWords(title),
    description: descriptionWords(description),
  }),
  update: `UPDATE issues i SET search = r.description::tsvector || r.title::tsvector
    FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, title text, description text) WHERE i.id = r.id`,
};

const comments: WordTable<{ id: string; body: string }> = {
  name: 'comments',
  select: `SELECT id, body FROM comments WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2 FOR NO KEY UPDATE`,
  wordsOf: ({ body }) => ({ words: commentWords(body) }),
  update: `UPDATE comments c SET words = r.words::tsvector
    FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, words text) WHERE c.id = r.id`,
};

/** The tables of issues whose words earlier releases have stored. */
export const issueWordTables: readonly WordTable[] = [issues, comments];
