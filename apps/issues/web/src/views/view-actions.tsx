import '../styles/views.css';
import { useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { isFiltered, validateListSearch } from '../issue-list/list-search.ts';
import { notify } from '../shell/toasts.tsx';
import { hasStaffRights, useUser } from '../shell/user.ts';
import { useOpenView } from './open-view.ts';
import { isChanged } from './saved-views.ts';
import { shownQuery } from './shown-query.ts';
import { useViews } from './use-views.ts';
import { ViewFormDialog } from './view-form-dialog.tsx';

/** Saves the filters that are shown as a view, or changes the view that is open. */
export function ViewActions() {
  const { pathname, search } = useLocation();
  const view = useOpenView();
  const user = useUser();
  const { change } = useViews();
  const [form, setForm] = useState<'new' | 'edit'>();
  const shown = shownQuery(pathname, search);
  if (shown === undefined) return null;
  const mayChange = view !== undefined && (view.owner.id === user.id || hasStaffRights(user));
  const isOther = view !== undefined && isChanged(view, pathname, search);
  const save = () => {
    if (view !== undefined)
      change(view, shown).catch((error: unknown) =>
        notify(`Not saved: ${error instanceof Error ? error.message : ''}`),
      );
  };
  return (
    <span className="view-actions">
      {mayChange && isOther && (
        <button type="button" onClick={save}>
          Save changes
        </button>
      )}
      {mayChange && (
        <button type="button" className="quiet" onClick={() => setForm('edit')}>
          Edit view
        </button>
      )}
      {(view === undefined ? isFiltered(validateListSearch(search)) : isOther) && (
        <button type="button" className="quiet" onClick={() => setForm('new')}>
          Save view
        </button>
      )}
      {form !== undefined && (
        <ViewFormDialog
          view={form === 'edit' ? view : undefined}
          shown={shown}
          onClose={() => setForm(undefined)}
        />
      )}
    </span>
  );
}
