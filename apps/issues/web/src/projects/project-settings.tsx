import '../styles/projects.css';
import { useSearch } from '@tanstack/react-router';
import { ProjectList } from './project-list.tsx';
import { ProjectPage } from './project-page.tsx';

/** All projects, or the one of the address. */
export function ProjectSettings() {
  const { project } = useSearch({ from: '/app/settings/$section' });
  return project === undefined ? <ProjectList /> : <ProjectPage key={project} projectKey={project} />;
}
