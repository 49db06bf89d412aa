import type { Person, Web } from './web.ts';

const titles = [
  'Invoices of the last quarter are not printed',
  'Sign-in takes longer than a minute on Monday mornings',
  'The export loses umlauts in the names of streets',
  'Refund is booked twice if the customer reloads',
  'The search does not find orders by the number of the parcel',
  'Rounding of the tax differs from that of the shop',
  'Reminders are sent although the bill is paid',
  'The mobile menu covers the cart',
  'Addresses in Ireland need no postal code',
  'The nightly import stops at an empty file',
  'A parcel that is returned stays "on its way"',
  'Two people book the last item at once',
  'The PDF of an order has no page numbers',
  'Password reset mails arrive an hour late',
  'The price list ignores the currency of the customer',
  'Gift cards cannot be used twice',
  'The weekly report counts cancelled orders',
] as const;
const priorities = ['LOW', 'MEDIUM', 'HIGH', 'URGENT', 'CRITICAL'] as const;
const statuses = [undefined, 'IN_PROGRESS', undefined, 'RESOLVED'] as const;

/** Creates two people, three labels and issues; the issue `key` has a description, comments and history. */
export async function fillExamples(web: Web, count: number) {
  const ada = await web.createPerson('ada', 'Ada Lovelace', true);
  const bob = await web.createPerson('bob', 'Bob Kaplan');
  for (const [name, color] of [
    ['billing', '#3b82f6'],
    ['export', '#16a34a'],
    ['customer', '#d97706'],
  ] as const)
    await ada.api.createLabel({ name, color });
  for (let number = 1; number <= count; number += 1) await createExample(ada, bob, number);
  const issue = await ada.api.create({
    title: 'Invoices are printed without the address of the customer',
    description:
      'Since the update of **Monday**, invoices have no address:\n\n- all customers abroad\n- only the *second* page\n\nThe template uses `customer.address`, see the log:\n\n```\nTypeError: address is undefined\n```\n',
    priority: 'URGENT',
    labels: ['billing', 'customer'],
    assignee_id: bob.id,
  });
  await bob.api.addComment(issue.key, 'I can reproduce this with **every** customer in France.');
  await bob.api.changeStatus(issue.key, { status: 'IN_PROGRESS' });
  await ada.api.update(issue.key, { priority: 'CRITICAL' });
  await ada.api.addComment(issue.key, 'The queue was full as well. I have emptied it; please try again.');
  return { ada, bob, key: issue.key };
}

async function createExample(ada: Person, bob: Person, number: number): Promise<void> {
  const { key } = await (number % 3 === 0 ? bob : ada).api.create({
    title: titles[number % titles.length] ?? '',
    priority: priorities[number % priorities.length] ?? 'LOW',
    labels: number % 4 === 0 ? ['export'] : [],
    assignee_id: number % 2 === 0 ? ada.id : null,
  });
  const status = statuses[number % statuses.length];
  if (status !== undefined) await ada.api.changeStatus(key, { status });
}

/** A parent, sub-issues of which one is done, and an issue that waits. */
export async function relateExamples({ api }: Person, key: string): Promise<void> {
  const put = (kind: 'parent' | 'blocks', direction: 'incoming' | 'outgoing', number: number) =>
    api.putRelation(key, { kind, direction, issue: `${number}` });
  await put('parent', 'incoming', 1);
  await put('blocks', 'incoming', 2);
  for (const number of [3, 4, 5]) await put('parent', 'outgoing', number);
}
