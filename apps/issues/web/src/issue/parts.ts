import { lazyPart } from '../shell/lazy-part.tsx';

/** Loaded when a list or the board opens them. */
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
