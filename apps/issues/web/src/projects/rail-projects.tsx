import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { projectsQuery } from '../http/queries.ts';
import { formatNumber } from '../messages.ts';
import { Icon, LockMark } from '../shell/icons.tsx';

const shownProjects = 8;

/** The projects in the sidebar. A single one is the list of all issues. */
export function RailProjects() {
  const { data: projects = [] } = useQuery(projectsQuery);
  const [isLong, setLong] = useState(false);
  const chosen = useLocation({
    select: ({ pathname, search }) =>
      pathname === '/issues' && search.saved === undefined ? search.project : undefined,
  });
  const open = projects.filter(({ is_archived }) => !is_archived);
  if (open.length < 2) return null;
  return (
    <nav className="rail-labels" aria-label="Projects">
      <h2>
        <Link to="/settings/$section" params={{ section: 'projects' }} title="All projects">
          Projects
        </Link>
      </h2>
      {open.slice(0, isLong ? open.length : shownProjects).map(({ id, key, name, visibility }) => (
        <Link
          key={id}
          to="/issues"
          search={{ project: key }}
          className="way"
          activeProps={{}}
          activeOptions={{ exact: true, includeSearch: true }}
          aria-current={chosen === key ? 'page' : undefined}
          title={`${name} ( ${key} )`}
        >
          <Icon>
            <path d="M2.5 12.5v-9h4l1.5 2h5.5v7z" />
          </Icon>
          <span className="way-name" dir="auto">
            {name}
          </span>
          <LockMark visibility={visibility} />
        </Link>
      ))}
      {open.length > shownProjects && (
        <button type="button" className="way" aria-expanded={isLong} onClick={() => setLong((was) => !was)}>
          {isLong ? 'Show fewer' : `Show all ${formatNumber(open.length)}`}
        </button>
      )}
    </nav>
  );
}
