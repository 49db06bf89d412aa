import { hasStaffRights } from '../shell/user.ts';
import { isHosted } from '../sign-in/hosted-sign-in.ts';

interface Section {
  name: string;
  isForStaff?: boolean;
  /** Exists with the sign-in on identity's pages only. */
  isHosted?: boolean;
}

const all = {
  account: { name: 'Account' },
  sessions: { name: 'Sessions' },
  labels: { name: 'Labels' },
  projects: { name: 'Projects' },
  users: { name: 'Users', isForStaff: true },
  applications: { name: 'Applications', isForStaff: true, isHosted: true },
  webhooks: { name: 'Webhooks', isForStaff: true },
  tracker: { name: 'Tracker', isForStaff: true },
} satisfies Record<string, Section>;

export type SectionId = keyof typeof all;

/** The sections of the settings that exist here. */
export const existingSections = (): [SectionId, Section][] =>
  (Object.entries(all) as [SectionId, Section][]).filter(([, one]) => !one.isHosted || isHosted());

/** The sections that a person may open. */
export const sectionsOf = (user: Parameters<typeof hasStaffRights>[0]): [SectionId, Section][] =>
  existingSections().filter(([, { isForStaff = false }]) => hasStaffRights(user) || !isForStaff);
