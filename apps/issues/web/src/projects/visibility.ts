import type { Project, ProjectRole, ProjectVisibility } from '@tessera/contracts';

/** Who reads a project, in a few words. */
export const visibilityNames: Record<ProjectVisibility, string> = {
  everyone: 'Everyone',
  reporters: 'Members, and others their own issues',
  members: 'Members and staff',
  sealed: 'Members only',
};
export const visibilities = Object.keys(visibilityNames) as ProjectVisibility[];

/** The same in a sentence. */
export const visibilityTexts: Record<ProjectVisibility, string> = {
  everyone: 'Everyone who can sign in reads all of its issues.',
  reporters:
    'Members and staff read all of its issues. Everyone creates issues in it, and reads those that they reported or are assigned to.',
  members: 'Only members and staff read its issues.',
  sealed: 'Only members read its issues, not even staff. If a superuser joins, the members see it.',
};

export const roleNames: Record<ProjectRole, string> = {
  viewer: 'Viewer',
  member: 'Member',
  manager: 'Manager',
};
export const roles = Object.keys(roleNames) as ProjectRole[];

export const roleTexts: Record<ProjectRole, string> = {
  viewer: 'reads and comments',
  member: 'also changes issues',
  manager: 'also changes the project and its members',
};

type Readers = Pick<Project, 'name' | 'visibility'>;

/** Who gains and who loses sight of an issue that moves from one project to another; undefined if no one does. */
export function sightChange(from: Readers, to: Readers): { gains?: string; loses?: string } {
  const [a, b] = [from.visibility, to.visibility];
  const members = `members of ${isolated(to.name)}`;
  const former = `members of ${isolated(from.name)} who are not members of ${isolated(to.name)}`;
  if (a === 'everyone' && b === 'everyone') return {};
  if (b === 'everyone') return { gains: 'Everyone who can sign in.' };
  if (a === 'everyone') {
    const stay = {
      reporters: `${members}, staff, and its reporter and its assignee`,
      members: `${members} and staff`,
      sealed: `${members}, also staff`,
    };
    return { loses: `Everyone but the ${stay[b]}.` };
  }
  const involved = 'its reporter and its assignee';
  const gains = [
    `The ${members}`,
    ...(a === 'sealed' ? ['staff'] : []),
    ...(b === 'reporters' && a !== 'reporters' ? [involved] : []),
  ];
  const loses = [
    ...(b === 'sealed' && a !== 'sealed' ? [`staff`] : []),
    ...(a === 'reporters' && b !== 'reporters' ? [involved] : []),
    former,
  ];
  return { gains: sentence(gains), loses: sentence(loses) };
}

/** The direction of a name does not change that of the sentence. */
const isolated = (text: string) => `\u2068${text}\u2069`;

function sentence(parts: readonly string[]): string {
  const text = new Intl.ListFormat('en', { type: 'conjunction' }).format(parts);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
