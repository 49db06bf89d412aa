import type { IssueReference } from '../issue-core/issue-reference.ts';

/** The filter of a list of people. With `search` or `issue` the list is ranked, otherwise it is sorted by id. */
export interface PeopleFilter {
  /** Each word is a prefix of a word of the username, of the name or, with `searchEmails`, of the e-mail. */
  search?: string | undefined;
  searchEmails: boolean;
  isActive?: boolean | undefined;
  ids?: readonly string[] | undefined;
  /** Only people who may read this issue. */
  canRead?: IssueReference | undefined;
  /** The people of this issue come first. */
  issue?: IssueReference | undefined;
}

/** The sort values of a person in a ranked list. */
export interface RankedPlace {
  /** 0 for the people of the issue, 1 for all others. */
  tier: number;
  seenOrder: number;
  sortName: string;
  id: string;
}

export function isRanked({ search, issue }: Pick<PeopleFilter, 'search' | 'issue'>): boolean {
  return search !== undefined || issue !== undefined;
}
