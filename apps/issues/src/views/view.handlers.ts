import {
  type createView,
  type deleteView,
  type getView,
  listViews,
  sharedViewsMax,
  type UpdateView,
  type updateView,
  viewsMax,
  type View as WireView,
} from '@tessera/contracts';
import { type Handler, jsonText, ProblemError, type ResponseOf } from '@tessera/service-kit';
import type { OnceHandler } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import { assertMayChangeView } from '../issue-core/issue-access.ts';
import { presentPerson } from '../issue-core/person.ts';
import { assertNames, readIfMatch, shortHash, unlessKnown } from '../issue-core/precondition.ts';
import type { ViewRepository } from './view.repository.ts';
import type { View } from './view.ts';

interface ViewHandlersOptions {
  views: ViewRepository;
  publicBaseUrl: string;
}

/** Handlers of views. Everyone reads shared views; their owners and staff change them. */
export function viewHandlers({ views, publicBaseUrl }: ViewHandlersOptions) {
  const created = (view: View): ResponseOf<typeof createView> => {
    const { headers, body } = viewResponse(view);
    const location = `${publicBaseUrl}${listViews.path}${view.id}/`;
    return { status: 201, headers: { ...headers, Location: location }, body };
  };

  const list: Handler<typeof listViews, Actor> = async ({ headers, actor }) => {
    const body = jsonText((await views.list(actor.id)).map(presentView));
    return unlessKnown(headers, { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body });
  };

  const get: Handler<typeof getView, Actor> = async ({ params, headers, actor }) =>
    unlessKnown(headers, viewResponse(assertFound(await views.find(params.id, actor.id))));

  const create: OnceHandler<typeof createView> = {
    prepare:
      ({ body: { is_shared: isShared, ...body }, actor }) =>
      async (transaction) => {
        const view = await views.insert(actor.id, { ...body, isShared }, transaction);
        if (view === undefined) throw tooMany();
        return { resourceId: view.id, response: created(view) };
      },
    present: async (id, { actor }) => created(assertFound(await views.find(id, actor.id))),
  };

  const update: Handler<typeof updateView, Actor> = async ({ params, headers, body, actor }) =>
    viewResponse(
      await views.change(params.id, actor.id, async (found, transaction) => {
        const view = assertFound(found);
        assertMayChangeView(actor, view.ownerId);
        assertSeen(headers, view);
        const content = contentOf(view, body);
        if (Object.entries(content).every(([name, value]) => view[name as keyof View] === value)) return view;
        if (!(await views.update(view, content, transaction))) throw tooMany();
        // Staff may have made it a view of its owner alone.
        return assertFound(await views.find(view.id, view.ownerId, transaction));
      }),
    );

  const remove: Handler<typeof deleteView, Actor> = async ({ params, headers, actor }) => {
    await views.change(params.id, actor.id, async (found, transaction) => {
      const view = assertFound(found);
      assertMayChangeView(actor, view.ownerId);
      assertSeen(headers, view);
      await views.delete(view.id, transaction);
    });
    return { status: 204 };
  };

  return { list, get, create, update, remove };
}

function contentOf(view: View, { is_shared: isShared, ...change }: UpdateView) {
  const { name = view.name, query = view.query, layout = view.layout } = change;
  return { name, query, layout, isShared: isShared ?? view.isShared };
}

function presentView({ id, name, query, layout, isShared, ownerId, ownerNames, ...view }: View): WireView {
  return {
    id,
    name,
    query,
    layout,
    is_shared: isShared,
    owner: presentPerson(ownerId, ownerNames),
    created_at: view.createdAt.toISOString(),
    updated_at: view.updatedAt.toISOString(),
  };
}

function viewResponse(view: View) {
  const body = jsonText(presentView(view));
  return { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body } as const;
}

function assertSeen({ 'If-Match': header }: { 'If-Match'?: string | undefined }, view: View): void {
  assertNames(readIfMatch(header), viewResponse(view).headers.ETag);
}

function assertFound(view: View | undefined): View {
  if (view !== undefined) return view;
  throw new ProblemError({ status: 404, code: 'view_not_found', detail: 'There is no such view.' });
}

function tooMany(): ProblemError {
  const detail = `A person has at most ${viewsMax} views, and shares at most ${sharedViewsMax} of them.`;
  return new ProblemError({ status: 409, code: 'too_many_views', detail });
}
