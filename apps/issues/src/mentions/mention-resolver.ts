import { mentionsMax } from '@tessera/contracts';
import { mentionedNames } from '@tessera/contracts/markdown';
import type { MentionRepository } from './mention.repository.ts';

/** Finds the people that a text mentions. */
export class MentionResolver {
  readonly #repository: Pick<MentionRepository, 'findByUsernames'>;

  constructor({ repository }: { repository: Pick<MentionRepository, 'findByUsernames'> }) {
    this.#repository = repository;
  }

  /** Returns the ids of the first people that a text mentions. Unknown and ambiguous names mention no one. */
  async resolve(text: string): Promise<string[]> {
    const names = mentionedNames(text);
    if (names.length === 0) return [];
    const known = await this.#repository.findByUsernames(names.flat());
    const ids = names.flatMap((forms) => forms.map((form) => known.get(form)).find(Boolean) ?? []);
    return [...new Set(ids)].slice(0, mentionsMax);
  }
}
