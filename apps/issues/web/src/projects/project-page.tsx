import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Project } from '@tessera/contracts';
import { useEffect } from 'react';
import { call } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { projectsQuery } from '../http/queries.ts';
import { QueryState } from '../settings/query-state.tsx';
import { Confirm } from '../shell/confirm.tsx';
import { LockMark } from '../shell/icons.tsx';
import { useUser } from '../shell/user.ts';
import { ProjectForm } from './project-form.tsx';
import { ProjectHistory } from './project-history.tsx';
import { ProjectMembers } from './project-members.tsx';
import { explained } from './project-problem.ts';
import { mayManage, membersQuery, projectQuery, useOwnRole } from './project-queries.ts';
import { visibilityTexts } from './visibility.ts';

const here = { to: '/settings/$section', params: { section: 'projects' } } as const;

/** A project: who reads it, its members, its history. Managers and staff change it. */
export function ProjectPage({ projectKey }: { projectKey: string }) {
  const project = useQuery(projectQuery(projectKey));
  const navigate = useNavigate();
  const { data, error } = project;
  const isMissing = error instanceof HttpError && [404, 422].includes(error.status);
  const present = data?.key;
  // It was opened by a former key.
  useEffect(() => {
    if (present !== undefined && present !== projectKey)
      void navigate({ ...here, search: { project: present }, replace: true });
  }, [present, projectKey, navigate]);
  return (
    <>
      <nav className="project-path" aria-label="Path">
        <Link {...here}>Projects</Link>
        <span aria-hidden="true">/</span>
        <span>{present ?? projectKey}</span>
      </nav>
      {isMissing ? (
        <MissingProject projectKey={projectKey} />
      ) : data === undefined ? (
        <>
          <h1>Project {projectKey}</h1>
          <QueryState query={project} />
        </>
      ) : (
        <KnownProject project={data} />
      )}
    </>
  );
}

function KnownProject({ project }: { project: Project }) {
  const { key, name, visibility, is_archived } = project;
  const user = useUser();
  const navigate = useNavigate();
  const role = useOwnRole(key);
  const isManager = mayManage(project, role, user);
  return (
    <>
      <h1>
        <bdi>{name}</bdi> {is_archived && <span className="badge">Archived</span>}
      </h1>
      <p className="muted">
        <LockMark visibility={visibility} /> {visibilityTexts[visibility]}
      </p>
      <Link to="/issues" search={{ project: key }}>
        Issues of this project
      </Link>
      <ProjectMembers project={project} isManager={isManager} />
      {isManager && (
        <section aria-labelledby="project-settings">
          <h2 id="project-settings">Settings</h2>
          <ProjectForm
            project={project}
            onSaved={async (saved) => {
              if (saved.key !== key)
                await navigate({ ...here, search: { project: saved.key }, replace: true });
            }}
          />
        </section>
      )}
      <ProjectHistory projectKey={key} />
    </>
  );
}

/** Invisible and missing are the same. A superuser may join a sealed one. */
function MissingProject({ projectKey }: { projectKey: string }) {
  const client = useQueryClient();
  const { id, is_superuser } = useUser();
  const join = async () => {
    const params = { key: projectKey, user_id: id };
    await explained(call('putProjectMember', { params, body: { role: 'manager' } }));
    for (const queryKey of [
      projectsQuery.queryKey,
      projectQuery(projectKey).queryKey,
      membersQuery(projectKey).queryKey,
      ['issues'],
    ])
      void client.invalidateQueries({ queryKey });
  };
  return (
    <>
      <h1>There is no project {projectKey}</h1>
      <p>There is none with this key, or you may not see it.</p>
      {is_superuser && (
        <Confirm
          name="Join as a manager"
          title={`Join ${projectKey}?`}
          text="If members alone read a project with this key, you become a manager of it. The members see that you joined."
          action={join}
        />
      )}
    </>
  );
}
