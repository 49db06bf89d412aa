import { useState } from 'react';
import { lazyPart } from '../shell/lazy-part.tsx';
import type { FurtherFiltersProps } from './further-filters-dialog.tsx';
import { type FurtherFilter, furtherFilters } from './list-search.ts';

const FurtherFiltersDialog = lazyPart(
  async () => (await import('./further-filters-dialog.tsx')).FurtherFiltersDialog,
  (_: FurtherFiltersProps) => null,
  () => null,
);

/** Opens the filters that are used less often, and says how many of them are set. */
export function FurtherFilters(props: Omit<FurtherFiltersProps, 'onClose'>) {
  const [isOpen, setOpen] = useState(false);
  const { search } = props;
  const count = Object.keys(furtherFilters).filter(
    (name) => search[name as FurtherFilter] !== undefined,
  ).length;
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        More{count > 0 && <strong>: {count}</strong>}
      </button>
      {isOpen && <FurtherFiltersDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}
