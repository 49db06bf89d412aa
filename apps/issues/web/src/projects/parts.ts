import { lazyPart } from '../shell/lazy-part.tsx';

const nothing = () => null;
const load = () => import('./frame-parts.ts');

// One file, after the list.
export const RailProjects = lazyPart(async () => (await load()).RailProjects, nothing, nothing);
export const ProjectCommands = lazyPart(async () => (await load()).ProjectCommands, nothing, nothing);
