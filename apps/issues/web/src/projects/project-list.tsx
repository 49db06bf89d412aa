import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { projectsQuery } from '../http/queries.ts';
import { QueryState } from '../settings/query-state.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { LockMark } from '../shell/icons.tsx';
import { notifyDone } from '../shell/toasts.tsx';
import { hasStaffRights, useUser } from '../shell/user.ts';
import { ProjectForm } from './project-form.tsx';
import { visibilityNames } from './visibility.ts';

/** All projects of which the user reads issues. Staff create further ones. */
export function ProjectList() {
  const user = useUser();
  const navigate = useNavigate();
  const projects = useQuery(projectsQuery);
  const [isNew, setNew] = useState(false);
  const open = (project: string) =>
    navigate({ to: '/settings/$section', params: { section: 'projects' }, search: { project } });
  return (
    <>
      <p className="muted">
        A project keeps the issues of a team, a product or a customer together, and decides who reads them.
        {!hasStaffRights(user) && ' Staff create projects.'}
      </p>
      {hasStaffRights(user) && (
        <div className="actions">
          <button type="button" className="primary" onClick={() => setNew(true)}>
            New project
          </button>
        </div>
      )}
      <QueryState query={projects} />
      <ul className="entries" aria-label="Projects">
        {projects.data?.map(({ id, key, name, visibility, is_default, is_archived }) => (
          <li key={id}>
            <div>
              <Link to="/settings/$section" params={{ section: 'projects' }} search={{ project: key }}>
                <bdi>{name}</bdi>
              </Link>
              {is_default && <span className="badge">Default</span>}
              {is_archived && <span className="badge">Archived</span>}
              <p className="muted">
                {key}
                <LockMark visibility={visibility} /> · Read by: {visibilityNames[visibility].toLowerCase()}
              </p>
            </div>
            <Link to="/issues" search={{ project: key }} aria-label={`Issues of ${name}`}>
              Issues
            </Link>
          </li>
        ))}
      </ul>
      {projects.data?.length === 1 && (
        <p className="muted">
          There is one project so far. Issues can move to a new one, and keep their links.
        </p>
      )}
      {user.is_superuser && <OpenByKey open={open} />}
      {isNew && (
        <Dialog title="New project" onClose={() => setNew(false)}>
          <ProjectForm
            project={undefined}
            onSaved={async ({ key, name }) => {
              setNew(false);
              notifyDone(`Project ${name} created`);
              await open(key);
            }}
          />
        </Dialog>
      )}
    </>
  );
}

/** A superuser joins a sealed project by its key: no list shows it before. */
function OpenByKey({ open }: { open: (key: string) => unknown }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get('key')).trim();
    if (key !== '') void open(key.toUpperCase());
  };
  return (
    <section>
      <h2>A project that is not in the list</h2>
      <p className="muted">Superusers join a project that members alone read by its key.</p>
      <form className="open-project" onSubmit={submit}>
        <input name="key" aria-label="Key" placeholder="Key" maxLength={10} required autoComplete="off" />
        <button type="submit">Open</button>
      </form>
    </section>
  );
}
