export { ProjectCommands } from './project-switcher.tsx';
export { RailProjects } from './rail-projects.tsx';
