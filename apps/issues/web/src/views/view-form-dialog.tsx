import type { View } from '@tessera/contracts';
import { Dialog } from '../shell/dialog.tsx';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { useViews } from './use-views.ts';

export interface ViewFormProps {
  /** The view to change; undefined for a new one. */
  view: View | undefined;
  /** What a new view has. */
  shown: Pick<View, 'query' | 'layout'>;
  onClose: () => void;
}

/** Saves a new view, or renames, shares and deletes one. */
export function ViewFormDialog({ view, shown, onClose }: ViewFormProps) {
  const views = useViews();
  const form = useForm(async ({ name = '', shared }) => {
    const body = { name, is_shared: shared === 'on' };
    if (view === undefined) await views.save({ ...shown, ...body });
    else await views.change(view, body);
    onClose();
  });
  return (
    <Dialog title={view === undefined ? 'Save as a view' : 'Edit the view'} onClose={onClose}>
      <form ref={form.ref} onSubmit={form.onSubmit}>
        <Field state={form} label="Name" name="name" required maxLength={100} defaultValue={view?.name} />
        <label className="check">
          <input type="checkbox" name="shared" defaultChecked={view?.is_shared ?? false} />
          Shared: everyone sees it in the sidebar
        </label>
        <Submit state={form} name="Save" done="Saved" />
      </form>
      {view !== undefined && (
        <div className="actions">
          <button
            type="button"
            className="danger"
            onClick={() => {
              onClose();
              void views.delete(view);
            }}
          >
            Delete the view
          </button>
        </div>
      )}
    </Dialog>
  );
}
