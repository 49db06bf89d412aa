import '../styles/settings.css';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { ProjectSettings } from '../projects/project-settings.tsx';
import { useTitle } from '../shell/use-title.ts';
import { useUser } from '../shell/user.ts';
import { AccountSettings } from './account-settings.tsx';
import { ClientSettings } from './client-settings.tsx';
import { LabelSettings } from './label-settings.tsx';
import { existingSections, type SectionId, sectionsOf } from './sections.ts';
import { SessionSettings } from './session-settings.tsx';
import { TrackerSettings } from './tracker-settings.tsx';
import { UserSettings } from './user-settings.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

const contents: Readonly<Record<SectionId, ComponentType>> = {
  account: AccountSettings,
  sessions: SessionSettings,
  labels: LabelSettings,
  projects: ProjectSettings,
  users: UserSettings,
  applications: ClientSettings,
  webhooks: WebhookSettings,
  tracker: TrackerSettings,
};

export function SettingsPage() {
  const { section: id } = useParams({ from: '/app/settings/$section' });
  const { project } = useSearch({ from: '/app/settings/$section' });
  const user = useUser();
  const [key, section] = existingSections().find(([one]) => one === id) ?? [];
  const own = sectionsOf(user);
  const isProject = key === 'projects' && project !== undefined;
  useTitle(isProject ? `Project ${project}` : (section?.name ?? 'Settings'));
  const Content = own.some(([one]) => one === key) && key !== undefined ? contents[key] : undefined;
  return (
    <main id="content" className="page settings">
      <nav aria-label="Settings">
        {own.map(([one, { name }]) => (
          <Link key={one} to="/settings/$section" params={{ section: one }}>
            {name}
          </Link>
        ))}
      </nav>
      <div className="settings-content">
        {/* A project has its own heading. */}
        {!isProject && <h1>{section?.name ?? 'There are no such settings'}</h1>}
        {section !== undefined && Content === undefined && (
          <p>Only staff may see this page. Ask an administrator.</p>
        )}
        {Content !== undefined && <Content />}
      </div>
    </main>
  );
}
