import { lazyPart } from '../shell/lazy-part.tsx';

/** Loaded when a list or the board needs them. */
export const SelectionBar = lazyPart(
  async () => (await import('../quick-change/selection-bar.tsx')).SelectionBar,
  () => null,
  () => null,
);

export const IssuePeek = lazyPart(
  async () => (await import('./issue-peek.tsx')).IssuePeek,
  () => null,
  () => null,
);

export const CreateDialog = lazyPart(
  async () => (await import('./create-dialog.tsx')).CreateDialog,
  () => null,
  () => null,
);
