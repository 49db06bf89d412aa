import '../styles/settings.css';
import { Link, useParams } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { useTitle } from '../shell/use-title.ts';
import { hasStaffRights, useUser } from '../shell/user.ts';
import { isHosted } from '../sign-in/hosted-sign-in.ts';
import { AccountSettings } from './account-settings.tsx';
import { ClientSettings } from './client-settings.tsx';
import { LabelSettings } from './label-settings.tsx';
import { SessionSettings } from './session-settings.tsx';
import { TrackerSettings } from './tracker-settings.tsx';
import { UserSettings } from './user-settings.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

interface Section {
  name: string;
  isForStaff: boolean;
  /** Exists with the sign-in on identity's pages only. */
  isHosted?: boolean;
  Content: ComponentType;
}

const sections: Readonly<Record<string, Section>> = {
  account: { name: 'Account', isForStaff: false, Content: AccountSettings },
  sessions: { name: 'Sessions', isForStaff: false, Content: SessionSettings },
  labels: { name: 'Labels', isForStaff: false, Content: LabelSettings },
  users: { name: 'Users', isForStaff: true, Content: UserSettings },
  applications: { name: 'Applications', isForStaff: true, isHosted: true, Content: ClientSettings },
  webhooks: { name: 'Webhooks', isForStaff: true, Content: WebhookSettings },
  tracker: { name: 'Tracker', isForStaff: true, Content: TrackerSettings },
};

export function SettingsPage() {
  const { section: id } = useParams({ from: '/app/settings/$section' });
  const user = useUser();
  const present = Object.entries(sections).filter(([, one]) => !one.isHosted || isHosted());
  const section = present.find(([key]) => key === id)?.[1];
  const isStaff = hasStaffRights(user);
  useTitle(section?.name ?? 'Settings');
  const isAllowed = section !== undefined && (isStaff || !section.isForStaff);
  return (
    <main id="content" className="page settings">
      <nav aria-label="Settings">
        {present
          .filter(([, { isForStaff }]) => isStaff || !isForStaff)
          .map(([key, { name }]) => (
            <Link key={key} to="/settings/$section" params={{ section: key }}>
              {name}
            </Link>
          ))}
      </nav>
      <div className="settings-content">
        <h1>{section?.name ?? 'There are no such settings'}</h1>
        {section !== undefined && !isAllowed && <p>Only staff may see this page. Ask an administrator.</p>}
        {isAllowed && <section.Content />}
      </div>
    </main>
  );
}
