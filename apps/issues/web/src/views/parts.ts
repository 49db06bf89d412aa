import { lazyPart } from '../shell/lazy-part.tsx';

const nothing = () => null;
const load = () => import('./view-parts.ts');

// One file, after the list.
export const RailViews = lazyPart(async () => (await load()).RailViews, nothing, nothing);
export const ViewActions = lazyPart(async () => (await load()).ViewActions, nothing, nothing);
export const ViewCommands = lazyPart(async () => (await load()).ViewCommands, nothing, nothing);
