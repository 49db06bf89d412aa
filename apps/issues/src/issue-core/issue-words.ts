import { wordVector } from '@tessera/service-kit';

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
