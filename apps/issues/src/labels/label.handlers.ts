import {
  type createLabel,
  type deleteLabel,
  type getLabel,
  listLabels,
  type updateLabel,
} from '@tessera/contracts';
import { type Handler, jsonText } from '@tessera/service-kit';
import type { OnceHandler } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { Label } from '../issue-core/label.ts';
import { assertNames, readIfMatch, shortHash, unlessKnown } from '../issue-core/precondition.ts';
import { createdLabelResponse, labelResponse, presentLabel } from './label.presenter.ts';
import type { LabelService } from './label.service.ts';

interface LabelHandlersOptions {
  labels: LabelService;
  publicBaseUrl: string;
}

/** Handlers of labels. Every active user may read labels; staff administer them. */
export function labelHandlers({ labels, publicBaseUrl }: LabelHandlersOptions) {
  const labelsUrl = `${publicBaseUrl}${listLabels.path}`;

  const list: Handler<typeof listLabels, Actor> = async ({ headers }) => {
    const body = jsonText((await labels.list()).map(presentLabel));
    return unlessKnown(headers, { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body });
  };

  const get: Handler<typeof getLabel, Actor> = async ({ params, headers }) =>
    unlessKnown(headers, labelResponse(await labels.find(params.id)));

  const create: OnceHandler<typeof createLabel> = {
    prepare:
      ({ body }) =>
      async (transaction) => {
        const created = await labels.create(body, transaction);
        return { resourceId: created.id, response: createdLabelResponse(created, labelsUrl) };
      },
    present: async (id) => createdLabelResponse(await labels.find(id), labelsUrl),
  };

  const update: Handler<typeof updateLabel, Actor> = async ({ params, headers, body }) =>
    labelResponse(await labels.update(params.id, body, assertSeen(headers)));

  const remove: Handler<typeof deleteLabel, Actor> = async ({ params, headers }) => {
    await labels.delete(params.id, assertSeen(headers));
    return { status: 204 };
  };

  return { list, get, create, update, remove };
}

function assertSeen({ 'If-Match': header }: { 'If-Match'?: string | undefined }) {
  const ifMatch = readIfMatch(header);
  return (label: Label) => assertNames(ifMatch, labelResponse(label).headers.ETag);
}
