export { RailViews } from './rail-views.tsx';
export { ViewCommands } from './saved-views.ts';
export { ViewActions } from './view-actions.tsx';
