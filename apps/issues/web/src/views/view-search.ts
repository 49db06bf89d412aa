import {
  apiQuery,
  type ListSearch,
  labelsText,
  urlFilterNames,
  urlFilters,
  validateListSearch,
} from '../issue-list/list-search.ts';

/** The day of a moment, here. */
const dayOf = (time: string, millisecondsBefore = 0) => {
  const at = new Date(new Date(time).getTime() - millisecondsBefore);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
};

/** Days from today, so that a view means the same tomorrow. */
const daysOfDue = { today: '0', week: '7' } as const;
const dues = ['today', 'week'] as const;

/** The filters and the order as the query of a view. */
export function viewQuery(search: ListSearch): string {
  const parameters = new URLSearchParams();
  const { due, ...others } = search;
  if (due === 'today' || due === 'week') parameters.set('due_within', daysOfDue[due]);
  const query = apiQuery(due === 'overdue' ? search : others);
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) parameters.append(name, String(one));
  return parameters.toString();
}

const fromApi = {
  text: (values: readonly string[]) => values.join(),
  list: (values: readonly string[]) => values.join(),
  labels: labelsText,
  from: ([time]: readonly string[]) => time && dayOf(time),
  to: ([time]: readonly string[]) => time && dayOf(time, 1),
};

/** The parameters of the URL for the query of a view. */
export function searchOfView(query: string): ListSearch {
  const given = new URLSearchParams(query);
  const found: Record<string, string | undefined> = {};
  for (const name of urlFilterNames) {
    const { kind, api = name } = urlFilters[name];
    found[name] = fromApi[kind](given.getAll(api));
  }
  const due = dues.find((one) => daysOfDue[one] === found.due_within);
  const isOpen = given.get('is_open');
  return validateListSearch({
    ...found,
    ...(due !== undefined && { due, due_within: undefined }),
    ...(given.get('is_overdue') === 'true' && { due: 'overdue' }),
    q: given.get('search') ?? undefined,
    state: isOpen === null ? 'all' : isOpen === 'true' ? 'open' : 'done',
    order: given.get('ordering') ?? undefined,
  });
}
