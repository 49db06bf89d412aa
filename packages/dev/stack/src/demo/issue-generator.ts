import type { StatusChange } from '@tessera/client/issues';

/** A generated issue. */
export interface DemoIssue {
  title: string;
  description: string;
  priority: 'LOW' | 'MEDIUM' | 'HIGH' | 'URGENT' | 'CRITICAL';
  reporter: PersonName;
  assignee: PersonName | null;
  comments: { by: PersonName; text: string }[];
  /** The statuses that it goes through; each is a legal transition. */
  path: StatusChange['status'][];
  labels: string[];
  links: { type: 'helpdesk_ticket' | 'invoice' | 'entity'; ref: string; title: string }[];
}

/** The display names of the people by their user names. */
export const people = {
  ada: 'Ada Lovelace',
  grace: 'Grace Hopper',
  linus: 'Linus Pauling',
  margaret: 'Margaret Hamilton',
  dennis: 'Dennis Gabor',
  barbara: 'Barbara McClintock',
  ken: 'Ken Wilson',
  radia: 'Radia Perlman',
} as const;

export type PersonName = keyof typeof people;

const names = Object.keys(people) as PersonName[];

const subjects = [
  'invoice export',
  'login page',
  'search',
  'password reset',
  'nightly import',
  'printer queue',
  'customer list',
  'report of the month',
  'mobile menu',
  'webhook',
  'calendar sync',
  'VAT calculation',
  'PDF preview',
  'audit log',
];
const faults = [
  'times out',
  'shows yesterday’s numbers',
  'loses the last line',
  'is empty after an update',
  'crashes on umlauts',
  'ignores the time zone',
  'asks twice',
  'is slow for large customers',
  'sends two e-mails',
  'cannot be closed',
];
const features = [
  'Let me sort the',
  'Add a shortcut to the',
  'Remember my filter in the',
  'Explain the error of the',
  'Document the',
];
const remarks = [
  'I can reproduce this on the test system.',
  'Happens to two customers so far.',
  'The log says nothing unusual.',
  'A restart helps for about an hour.',
  'This worked in the last release.',
  'Raised the priority: support gets calls.',
  'Fixed on a branch, waiting for a review.',
  'Please try again with today’s build.',
  'Works for me now, thank you.',
];
/** The labels of the issues, with their colours. */
export const labels = {
  bug: '#d1242f',
  feature: '#0969da',
  payments: '#9a6700',
  performance: '#8250df',
  mobile: '#1a7f37',
  'needs answer': '#57606a',
} as const;
const areas = ['payments', 'performance', 'mobile', 'needs answer'] as const;

const paths: DemoIssue['path'][] = [
  [],
  [],
  ['IN_PROGRESS'],
  ['IN_PROGRESS'],
  ['IN_PROGRESS', 'RESOLVED'],
  ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
  ['CLOSED'],
  ['RESOLVED', 'REOPENED'],
  ['IN_PROGRESS', 'RESOLVED', 'REOPENED', 'IN_PROGRESS'],
];
const priorities = ['LOW', 'MEDIUM', 'MEDIUM', 'MEDIUM', 'HIGH', 'HIGH', 'URGENT', 'CRITICAL'] as const;

/** A random item of a list. */
export function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('The list is empty.');
  return item;
}

/** Generates one issue. */
export function generateIssue(random: () => number): DemoIssue {
  const subject = pick(subjects, random);
  const isFeature = random() < 0.25;
  const title = isFeature ? `${pick(features, random)} ${subject}` : `The ${subject} ${pick(faults, random)}`;
  const seenBy = Math.ceil(random() * 40);
  return {
    title,
    description: isFeature
      ? `Several of us would use it every day.\n\nWhere: ${subject}.`
      : `What happens: the ${subject} ${pick(faults, random)}.\n\nSeen by ${seenBy} people since this week.`,
    priority: pick(priorities, random),
    reporter: pick(names, random),
    assignee: random() < 0.7 ? pick(names, random) : null,
    comments: Array.from({ length: Math.floor(random() * 4) }, () => ({
      by: pick(names, random),
      text: pick(remarks, random),
    })),
    path: pick(paths, random),
    links: random() < 0.3 ? [generateLink(random)] : [],
    labels: isFeature ? ['feature'] : ['bug', ...(random() < 0.4 ? [pick(areas, random)] : [])],
  };
}

function generateLink(random: () => number): DemoIssue['links'][number] {
  const number = 1000 + Math.floor(random() * 9000);
  if (random() < 0.5) return { type: 'helpdesk_ticket', ref: String(number), title: `Ticket ${number}` };
  return { type: 'invoice', ref: `2026-${number}`, title: `Invoice 2026-${number}` };
}
