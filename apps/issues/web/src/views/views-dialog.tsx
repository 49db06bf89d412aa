import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { personName } from '../messages.ts';
import { Choices } from '../people/choices.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { notify } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { useOpenView, viewsQuery } from './open-view.ts';
import { targetOf } from './saved-views.ts';
import { shownQuery } from './shown-query.ts';
import { useViews } from './use-views.ts';

const noViews = 'No views yet. Filter the issues or the board, then press v there to save what is shown.';

/** Opens a view, or saves the list or board that is shown under the name that is typed. */
export function ViewsDialog({ onClose }: { onClose: () => void }) {
  const { data: views = [], isPending } = useQuery(viewsQuery);
  const open = useOpenView();
  const { pathname, search } = useLocation();
  const navigate = useNavigate();
  const { save } = useViews();
  const me = useUser();
  const shown = shownQuery(pathname, search);
  return (
    <Dialog title="Views" onClose={onClose} isAtTop>
      <div>
        <Choices
          label="Views"
          options={views.map((view) => ({
            value: view.id,
            name: view.name,
            content: (
              <span className="view-option">
                <bdi>{view.name}</bdi>
                {view.owner.id !== me.id && <span className="muted">{personName(view.owner)}</span>}
              </span>
            ),
          }))}
          isPending={isPending}
          empty={views.length === 0 ? (shown ? 'No views yet' : noViews) : undefined}
          selected={open === undefined ? [] : [open.id]}
          onCreate={
            shown &&
            ((name) => {
              save({ name, ...shown, is_shared: false }).catch((error: unknown) =>
                notify(`Not saved: ${error instanceof Error ? error.message : ''}`),
              );
            })
          }
          onChange={([id]) => {
            const view = views.find((one) => one.id === id);
            if (view !== undefined) void navigate(targetOf(view));
          }}
          onClose={onClose}
        />
        {shown !== undefined && (
          <p className="muted view-hint">Type a new name to save the filters that are shown.</p>
        )}
      </div>
    </Dialog>
  );
}
