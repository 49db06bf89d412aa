import { apiQuery, type ListSearch, labelsText, validateListSearch } from '../issue-list/list-search.ts';

/** The day of a moment, here. */
const dayOf = (time: string, millisecondsBefore = 0) => {
  const at = new Date(new Date(time).getTime() - millisecondsBefore);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
};

/** Days from today, so that a view means the same tomorrow. */
const daysOfDue = { today: '0', week: '7' } as const;

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

/** The parameters of the URL for the query of a view. */
export function searchOfView(query: string): ListSearch {
  const given = new URLSearchParams(query);
  const all = (name: string) => given.getAll(name).flatMap((value) => value.split(','));
  const found: Record<string, string | undefined> = {};
  for (const name of [
    'status',
    'priority',
    'assignee',
    'project',
    '-status',
    '-priority',
    '-assignee',
    '-reporter',
  ])
    found[name] = all(name).join();
  for (const name of ['label', '-label']) found[name] = labelsText(given.getAll(name));
  for (const name of ['reporter', 'watcher', 'link', 'external', 'sync', 'due_after', 'due_before'])
    found[name] = given.get(name) ?? undefined;
  found.id = all('id').join();
  const within = given.get('due_within');
  if (within === daysOfDue.today) found.due = 'today';
  else if (within === daysOfDue.week) found.due = 'week';
  else found.due_within = within ?? undefined;
  if (given.get('is_overdue') === 'true') found.due = 'overdue';
  for (const name of ['created', 'updated']) {
    const [from, to] = [given.get(`${name}_after`), given.get(`${name}_before`)];
    if (from !== null) found[`${name}_from`] = dayOf(from);
    if (to !== null) found[`${name}_to`] = dayOf(to, 1);
  }
  const isOpen = given.get('is_open');
  return validateListSearch({
    ...found,
    q: given.get('search') ?? undefined,
    state: isOpen === null ? 'all' : isOpen === 'true' ? 'open' : 'done',
    order: given.get('ordering') ?? undefined,
  });
}
