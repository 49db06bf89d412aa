import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Issue } from '@tessera/contracts';
import { useState } from 'react';
import { call } from '../http/api.ts';
import { issueQuery, projectsQuery } from '../http/queries.ts';
import { Choices } from '../people/choices.tsx';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { Dialog } from '../shell/dialog.tsx';
import { notify, notifyDone } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { mayChange } from './access.ts';

/** The project of an issue, and the move to another one. Empty while there is one project only. */
export function MoveIssue({ issue }: { issue: Issue }) {
  const { data: projects = [] } = useQuery(projectsQuery);
  const client = useQueryClient();
  const user = useUser();
  const [isOpen, setOpen] = useState(false);
  const others = projects.filter(({ id, is_archived }) => id !== issue.project.id && !is_archived);
  const isAllowed = others.length > 0 && mayChange(issue, user);
  const open = () => setOpen(true);
  useCommands(isAllowed ? ofIssue([{ name: 'Move to project…', run: open }]) : []);
  const move = async (key: string) => {
    setOpen(false);
    try {
      const moved = await call('moveIssue', { params: { id: issue.key }, body: { project: key } });
      // The page follows to the new key.
      for (const shown of [issue.key, moved.key]) client.setQueryData(issueQuery(shown).queryKey, moved);
      void client.invalidateQueries({ queryKey: ['issues'] });
      notifyDone(`Moved to ${moved.key}. ${issue.key} leads to it, too.`);
    } catch (error) {
      notify(`Not moved: ${error instanceof Error ? error.message : ''}`);
    }
  };
  if (projects.length < 2) return null;
  return (
    <section aria-label="Project">
      <h2>Project</h2>
      <p>
        <bdi>{issue.project.name}</bdi> <span className="muted">{issue.project.key}</span>
      </p>
      {isAllowed && (
        <button type="button" className="watch" aria-haspopup="dialog" onClick={open}>
          Move to project…
        </button>
      )}
      {isOpen && (
        <Dialog title={`Move ${issue.key} to a project`} onClose={() => setOpen(false)} isAtTop>
          <div>
            <p className="muted">Its number stays. Its history and its comments move with it.</p>
            <Choices
              label="Project"
              options={others.map(({ key, name }) => ({ value: key, name: `${key} ${name}` }))}
              selected={[]}
              onChange={([key]) => key !== undefined && void move(key)}
              onClose={() => setOpen(false)}
            />
          </div>
        </Dialog>
      )}
    </section>
  );
}
