import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Issue, Project } from '@tessera/contracts';
import { useRef, useState } from 'react';
import { call } from '../http/api.ts';
import { issueQuery, projectsQuery } from '../http/queries.ts';
import { Choices } from '../people/choices.tsx';
import { projectOption } from '../projects/project-option.tsx';
import { sightChange } from '../projects/visibility.ts';
import { ofIssue, useCommands } from '../shell/commands.ts';
import { Dialog, focusNow } from '../shell/dialog.tsx';
import { LockMark } from '../shell/icons.tsx';
import { notify, notifyDone } from '../shell/toasts.tsx';
import { useMayChange } from './access.ts';

/** The project of an issue, and the move to another one. Empty while there is one project only. */
export function MoveIssue({ issue }: { issue: Issue }) {
  const { data: projects = [] } = useQuery(projectsQuery);
  const client = useQueryClient();
  const isAllowed = useMayChange(issue);
  const [isOpen, setOpen] = useState(false);
  const others = projects.filter(({ id, is_archived }) => id !== issue.project.id && !is_archived);
  const isMovable = others.length > 0 && isAllowed;
  const open = () => setOpen(true);
  useCommands(isMovable ? ofIssue([{ key: 'M T', name: 'Move to project…', run: open }]) : []);
  const { key: projectKey, name, visibility } = issue.project;
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
  if (projects.length < 2 && visibility === 'everyone') return null;
  return (
    <section aria-label="Project">
      <h2>Project</h2>
      <p>
        <Link to="/settings/$section" params={{ section: 'projects' }} search={{ project: projectKey }}>
          <bdi>{name}</bdi>
        </Link>{' '}
        <span className="muted">
          {projectKey}
          <LockMark visibility={visibility} />
        </span>
      </p>
      {isMovable && (
        <button type="button" className="watch" aria-haspopup="dialog" onClick={open}>
          Move to project…
        </button>
      )}
      {isOpen && (
        <MoveDialog
          issue={issue}
          projects={others}
          onMove={(key) => void move(key)}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
  );
}

interface MoveDialogProps {
  issue: Issue;
  projects: readonly Project[];
  onMove: (key: string) => void;
  onClose: () => void;
}

/** Chooses a project. Where other people will read the issue, says who before the move. */
function MoveDialog({ issue, projects, onMove, onClose }: MoveDialogProps) {
  const [chosen, setChosen] = useState<Project>();
  // A choice closes the list, but only Escape closes the dialog.
  const isChosen = useRef(false);
  const { gains, loses } = chosen === undefined ? {} : sightChange(issue.project, chosen);
  const choose = (key: string | undefined) => {
    const project = projects.find((one) => one.key === key);
    if (project === undefined) return;
    isChosen.current = true;
    const change = sightChange(issue.project, project);
    if (change.gains === undefined && change.loses === undefined) onMove(project.key);
    else setChosen(project);
  };
  return (
    <Dialog title={`Move ${issue.key} to a project`} onClose={onClose} isAtTop>
      {chosen === undefined ? (
        <div>
          <p className="muted">
            Its number stays. Its history and its comments move with it, also what was deleted.
          </p>
          <Choices
            label="Project"
            options={projects.map(projectOption)}
            selected={[]}
            onChange={([key]) => choose(key)}
            onClose={() => {
              if (!isChosen.current) onClose();
            }}
          />
        </div>
      ) : (
        <div className="move-sight">
          <p>
            To <strong dir="auto">{chosen.name}</strong> <span className="muted">{chosen.key}</span>
            <LockMark visibility={chosen.visibility} />
          </p>
          <dl>
            <dt>Will see it</dt>
            <dd>{gains ?? 'No one else.'}</dd>
            <dt>Will no longer see it</dt>
            <dd>{loses ?? 'No one.'}</dd>
          </dl>
          <p>Its history and its comments move with it, also the texts that were changed or deleted.</p>
          <div className="actions end">
            <button
              type="button"
              onClick={() => {
                isChosen.current = false;
                setChosen(undefined);
              }}
            >
              Back
            </button>
            <button type="button" className="primary" ref={focusNow} onClick={() => onMove(chosen.key)}>
              Move to {chosen.key}
            </button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
