import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { UpdateView, View } from '@tessera/contracts';
import { call, readTag } from '../http/api.ts';
import { notify, notifyDone, takeBack } from '../shell/toasts.tsx';
import { viewsQuery } from './open-view.ts';
import { targetOf } from './saved-views.ts';

type Content = Pick<View, 'name' | 'query' | 'layout' | 'is_shared'>;

const contentOf = ({ name, query, layout, is_shared }: View): Content => ({ name, query, layout, is_shared });

/** Changes of views. Each can be undone. */
export function useViews() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const refresh = () => client.invalidateQueries({ queryKey: viewsQuery.queryKey });
  const remove = (id: string) => call('deleteView', { params: { id } });
  return {
    save: async (content: Content) => {
      const view = await call('createView', { body: content });
      await refresh();
      await navigate(targetOf(view));
      notifyDone(`View ${view.name} saved`, () => takeBack(() => remove(view.id), refresh));
    },
    change: async (view: View, change: UpdateView) => {
      const params = { id: view.id };
      const { body, tag } = await readTag('updateView', { params, body: change });
      await refresh();
      // Only as it was saved: another person may have changed it since.
      notifyDone(`View ${body.name} changed`, () =>
        takeBack(() => call('updateView', { params, body: contentOf(view), ifMatch: tag }), refresh),
      );
    },
    delete: async (view: View) => {
      try {
        await remove(view.id);
      } catch (error) {
        return notify(`Not deleted: ${error instanceof Error ? error.message : ''}`);
      }
      await refresh();
      notifyDone(`View ${view.name} deleted`, () =>
        takeBack(() => call('createView', { body: contentOf(view) }), refresh),
      );
    },
  };
}
