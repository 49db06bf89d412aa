import '../styles/settings.css';
import { Link, useParams } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { useTitle } from '../shell/use-title.ts';
import { hasStaffRights, useUser } from '../shell/user.ts';
import { AccountSettings } from './account-settings.tsx';
import { LabelSettings } from './label-settings.tsx';
import { SessionSettings } from './session-settings.tsx';
import { TrackerSettings } from './tracker-settings.tsx';
import { UserSettings } from './user-settings.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

interface Section {
  name: string;
  isForStaff: boolean;
  Content: ComponentType;
}

const sections: Readonly<Record<string, Section>> = {
  account: { name: 'Account', isForStaff: false, Content: AccountSettings },
  sessions: { name: 'Sessions', isForStaff: false, Content: SessionSettings },
  labels: { name: 'Labels', isForStaff: false, Content: LabelSettings },
  users: { name: 'Users', isForStaff: true, Content: UserSettings },
  webhooks: { name: 'Webhooks', isForStaff: true, Content: WebhookSettings },
  tracker: { name: 'Tracker', isForStaff: true, Content: TrackerSettings },
};

export function SettingsPage() {
  const { section: id } = useParams({ from: '/app/settings/$section' });
  const user = useUser();
  const section = Object.hasOwn(sections, id) ? sections[id] : undefined;
  const isStaff = hasStaffRights(user);
  useTitle(section?.name ?? 'Settings');
  const isAllowed = section !== undefined && (isStaff || !section.isForStaff);
  return (
    <main id="content" className="page settings">
      <nav aria-label="Settings">
        {Object.entries(sections)
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
