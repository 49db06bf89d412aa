import { LRUCache } from 'lru-cache';

/** Most text that is remembered, in characters: some 60,000 issues of a usual size. */
const maxCharacters = 64 * 1024 * 1024;

/**
 * Summaries of issues as JSON text, by a key that names everything they show (`IssueDocument.summaryKey`). An entry
 * cannot be out of date: what changes has another key.
 */
export class IssueSummaryCache {
  readonly #summaries = new LRUCache<string, string>({
    maxSize: maxCharacters,
    sizeCalculation: (summary, key) => summary.length + key.length,
  });

  get(key: string): string | undefined {
    return this.#summaries.get(key);
  }

  set(key: string, summary: string): void {
    this.#summaries.set(key, summary);
  }
}
