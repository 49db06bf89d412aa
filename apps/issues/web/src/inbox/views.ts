import type { RequestOf } from '@tessera/contracts/requests';

export const views = ['all', 'unread', 'snoozed', 'done'] as const;
export type View = (typeof views)[number];

export const viewNames: Record<View, string> = {
  all: 'All',
  unread: 'Unread',
  snoozed: 'Snoozed',
  done: 'Done',
};

export const viewQueries: Record<View, NonNullable<RequestOf<'listNotifications'>['query']>> = {
  all: { state: 'inbox' },
  unread: { unread: true },
  snoozed: { state: 'snoozed' },
  done: { state: 'done' },
};

/** The parameters of the inbox. Its usual view has none. */
export function validateInboxSearch({ view }: Record<string, unknown>): { view?: View } {
  const known = views.find((one) => one === view);
  return known === undefined || known === 'all' ? {} : { view: known };
}
