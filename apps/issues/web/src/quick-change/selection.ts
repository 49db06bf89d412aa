import type { MouseEvent } from 'react';

/** Adds a key to the selection, or takes it away. */
export function toggled(selected: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(key)) next.add(key);
  return next;
}

/**
 * Toggles a key. With an anchor, all issues from there get the new state of the key, as in a mail program.
 * @param issues in the order in which they are shown
 */
export function toggledTo(
  selected: ReadonlySet<string>,
  issues: readonly { key: string }[],
  key: string,
  anchor: string | undefined,
): ReadonlySet<string> {
  const ends = [anchor, key].map((one) => issues.findIndex((issue) => issue.key === one));
  if (ends.includes(-1)) return toggled(selected, key);
  const isOn = !selected.has(key);
  const next = new Set(selected);
  for (const issue of issues.slice(Math.min(...ends), Math.max(...ends) + 1))
    if (isOn) next.add(issue.key);
    else next.delete(issue.key);
  return next;
}

/**
 * Handlers of a row or card, all of which opens its issue. With Shift, a click selects. The link covers the most of it, so that
 * every way to open a link works; texts with a tooltip lie above it.
 */
export function rowClicks(select: (isRange: true) => void) {
  return {
    onMouseDown: (event: MouseEvent) => {
      // The browser would select the texts between.
      if (event.shiftKey) event.preventDefault();
    },
    onClick: (event: MouseEvent<HTMLElement>) => {
      const target = event.target as Element;
      if (target.closest('input, button') !== null) return;
      if (event.shiftKey) {
        event.preventDefault();
        select(true);
      } else if (target.closest('a') === null) event.currentTarget.querySelector('a')?.click();
    },
  };
}
