import { lazyPart } from '../shell/lazy-part.tsx';

/** Loaded when a list or the board opens it. */
export const IssuePeek = lazyPart(
  async () => (await import('./issue-peek.tsx')).IssuePeek,
  () => null,
  () => null,
);
