import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Label } from '@tessera/contracts';
import { useState } from 'react';
import { call, readTag } from '../http/api.ts';
import { labelsQuery } from '../http/queries.ts';
import { Confirm } from '../shell/confirm.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { LabelMark } from '../shell/icons.tsx';
import { newLabelColor } from '../shell/label-colors.ts';
import { notifyDone, takeBack } from '../shell/toasts.tsx';
import { hasStaffRights, useUser } from '../shell/user.ts';
import { QueryState } from './query-state.tsx';

/** All labels. Staff make, rename, colour and delete them. */
export function LabelSettings() {
  const isStaff = hasStaffRights(useUser());
  const client = useQueryClient();
  const labels = useQuery(labelsQuery);
  const [edited, setEdited] = useState<Label | 'new'>();
  const refresh = () =>
    Promise.all(['labels', 'issues', 'issue'].map((name) => client.invalidateQueries({ queryKey: [name] })));
  return (
    <>
      <p className="muted">
        Labels are on issues of all kinds. A new name or colour shows on every issue at once.
        {!isStaff && ' Staff change them.'}
      </p>
      {isStaff && (
        <div className="actions">
          <button type="button" className="primary" onClick={() => setEdited('new')}>
            New label
          </button>
        </div>
      )}
      <QueryState query={labels} />
      {labels.data?.length === 0 && <p>There are no labels yet.</p>}
      <ul className="entries" aria-label="Labels">
        {labels.data?.map((label) => (
          <li key={label.id}>
            <LabelMark {...label} />
            {isStaff && (
              <div className="actions">
                <button
                  type="button"
                  aria-label={`Edit the label ${label.name}`}
                  onClick={() => setEdited(label)}
                >
                  Edit
                </button>
                <Confirm
                  name="Delete"
                  label={`Delete the label ${label.name}`}
                  title={`Delete the label ${label.name}?`}
                  text="It disappears from all issues. This cannot be undone."
                  action={async () => {
                    await call('deleteLabel', { params: { id: label.id } });
                    await refresh();
                    notifyDone(`Label ${label.name} deleted`);
                  }}
                />
              </div>
            )}
          </li>
        ))}
      </ul>
      {edited !== undefined && (
        <Dialog
          title={edited === 'new' ? 'New label' : `Label ${edited.name}`}
          onClose={() => setEdited(undefined)}
        >
          <LabelForm
            label={edited === 'new' ? undefined : edited}
            onSaved={async () => {
              await refresh();
              setEdited(undefined);
            }}
            onUndone={refresh}
          />
        </Dialog>
      )}
    </>
  );
}

interface LabelFormProps {
  label: Label | undefined;
  onSaved: () => Promise<void>;
  onUndone: () => Promise<unknown>;
}

function LabelForm({ label, onSaved, onUndone }: LabelFormProps) {
  const form = useForm(async ({ name = '', color = '' }) => {
    const body = { name, color };
    if (label === undefined) {
      const { id } = await call('createLabel', { body });
      await onSaved();
      notifyDone(`Label ${name} created`, () =>
        takeBack(() => call('deleteLabel', { params: { id } }), onUndone),
      );
      return;
    }
    const params = { id: label.id };
    const { tag } = await readTag('updateLabel', { params, body });
    await onSaved();
    const before = { name: label.name, color: label.color };
    // Only as it was saved: another person may have changed it since.
    notifyDone(`Label ${name} changed`, () =>
      takeBack(() => call('updateLabel', { params, body: before, ifMatch: tag }), onUndone),
    );
  });
  return (
    <form ref={form.ref} onSubmit={form.onSubmit}>
      <Field state={form} label="Name" name="name" required maxLength={50} defaultValue={label?.name} />
      <Field
        state={form}
        label="Colour"
        name="color"
        type="color"
        defaultValue={label?.color ?? newLabelColor()}
      />
      <Submit state={form} name={label === undefined ? 'Create the label' : 'Save'} done="Saved" />
    </form>
  );
}
