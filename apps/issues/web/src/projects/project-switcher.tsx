import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { projectsQuery } from '../http/queries.ts';
import { validateBoardSearch, validateListSearch } from '../issue-list/list-search.ts';
import { Choices } from '../people/choices.tsx';
import { useCommands } from '../shell/commands.ts';
import { Dialog } from '../shell/dialog.tsx';
import { projectOption } from './project-option.tsx';

const all = 'all projects';
const manage = 'manage';

/** Adds the key that shows the issues of a project, on the list or the board that is open. */
export function ProjectCommands() {
  const [isOpen, setOpen] = useState(false);
  useCommands([{ key: 'g p', name: 'Go to a project…', group: 'Go to', run: () => setOpen(true) }], true);
  return isOpen ? <ProjectSwitcher onClose={() => setOpen(false)} /> : null;
}

function ProjectSwitcher({ onClose }: { onClose: () => void }) {
  const { data = [], isPending } = useQuery(projectsQuery);
  const navigate = useNavigate();
  const { pathname, search } = useLocation();
  const choose = (value: string | undefined) => {
    if (value === manage) {
      void navigate({ to: '/settings/$section', params: { section: 'projects' } });
      return;
    }
    const project = value === all ? undefined : value;
    // The other filters of the list that is open stay.
    if (pathname === '/board')
      void navigate({ to: '/board', search: validateBoardSearch({ ...search, saved: undefined, project }) });
    else
      void navigate({
        to: '/issues',
        search: validateListSearch({
          ...(pathname === '/issues' && search),
          saved: undefined,
          project,
        }),
      });
  };
  return (
    <Dialog title="Go to a project" onClose={onClose} isAtTop>
      <div>
        <Choices
          label="Project"
          options={[
            { value: all, name: 'All projects' },
            ...data.filter(({ is_archived }) => !is_archived).map(projectOption),
            { value: manage, name: 'Members and settings of projects' },
          ]}
          selected={[search.project ?? all]}
          isPending={isPending}
          onChange={([value]) => choose(value)}
          onClose={onClose}
        />
      </div>
    </Dialog>
  );
}
